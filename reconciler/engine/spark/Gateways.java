package reconciler;

import java.net.InetAddress;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.delta.DeltaLog;
import py4j.ClientServer;

/**
 * Ways into this JVM for other processes, one for each process.
 *
 * - `open` starts a server of py4j on a port of the loopback interface, which only who knows the secret can use.
 *   What the process asks of Spark is marked with the name: its jobs carry it as a tag, and share the cores fairly with those of
 *   other processes.
 * - `close` ends the server, and with it all that is held for the process. It cancels the process's jobs, and waits until no
 *   thread works for it any more. It answers whether that came to be in time.
 *
 * Threads that serve a process are known by their thread group, which a thread hands on to those that it starts. Pools of
 * Spark's may be born in one and stay; they serve everybody, so only threads that have a frame of py4j count.
 *
 * Compiled at set-up by the compiler that is part of Spark (`compile`), which knows neither lambdas nor the types of
 * generic results.
 */
public final class Gateways {

  private static final ConcurrentHashMap OPEN = new ConcurrentHashMap();
  private static final long PAUSE_MILLIS = 5L;
  /** Spark keeps each pool that it ever saw. */
  private static final int POOLS = 8;
  private static final AtomicInteger OPENED = new AtomicInteger();

  private Gateways() {}

  /** Start a server for a process; the answer is its port. */
  public static int open(String name, String secret) throws Exception {
    Opening opening = new Opening(new ThreadGroup(name), name, secret);
    opening.start();
    opening.join();
    if (opening.failure != null) {
      throw opening.failure;
    }
    OPEN.put(name, opening);
    return opening.server.getJavaServer().getListeningPort();
  }

  /** A process begins to use its server. */
  public static void begin() {
    DeltaLog.clearCache();
  }

  /** End a server, and whatever is done for its process, within a time. A server that is not there is closed. */
  public static boolean close(String name, long millis) throws InterruptedException {
    Opening opening = (Opening) OPEN.remove(name);
    if (opening == null) {
      return true;
    }
    long end = System.currentTimeMillis() + millis;
    opening.server.shutdown();
    SparkContext context = SparkContext.getOrCreate();
    while (isServing(opening.getThreadGroupOfServer())) {
      context.cancelJobsWithTag(name);
      if (System.currentTimeMillis() >= end) {
        return false;
      }
      Thread.sleep(PAUSE_MILLIS);
    }
    return true;
  }

  private static boolean isServing(ThreadGroup group) {
    Thread[] threads = new Thread[group.activeCount() + 16];
    int count = group.enumerate(threads);
    for (int index = 0; index < count; index++) {
      StackTraceElement[] frames = threads[index].getStackTrace();
      for (int depth = 0; depth < frames.length; depth++) {
        if (frames[depth].getClassName().startsWith("py4j.")) {
          return true;
        }
      }
    }
    return false;
  }

  /** Starts the server in the process's thread group, with the process's marks. */
  private static final class Opening extends Thread {

    private final ThreadGroup group;
    private final String tag;
    private final String secret;
    private ClientServer server;
    private Exception failure;

    private Opening(ThreadGroup group, String tag, String secret) {
      super(group, "gateway of " + tag);
      this.group = group;
      this.tag = tag;
      this.secret = secret;
    }

    private ThreadGroup getThreadGroupOfServer() {
      return group;
    }

    public void run() {
      try {
        SparkContext context = SparkContext.getOrCreate();
        context.addJobTag(tag);
        context.setLocalProperty("spark.scheduler.pool", "commands " + OPENED.incrementAndGet() % POOLS);
        server = new ClientServer.ClientServerBuilder()
            .javaAddress(InetAddress.getLoopbackAddress())
            .javaPort(0)
            .authToken(secret)
            .build();
        server.startServer();
      } catch (Exception caught) {
        failure = caught;
      }
    }
  }
}
