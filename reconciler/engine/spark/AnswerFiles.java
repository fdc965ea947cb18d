package reconciler;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.rdd.RDD;
import scala.collection.Iterator;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction2;

/**
 * The rows of a query, written to files of this machine's by the tasks that compute them, for Python to read.
 *
 * Spark by itself brings all rows to the driver's heap before anybody gets the first one: a large result fills it, and
 * whoever else uses this Spark waits for the garbage collector, or loses it. Here a task holds a batch of rows at a time,
 * and the driver none. Only where the driver runs the tasks itself are the files on the machine that reads them.
 *
 * All files of an answer together have at most so many bytes: the first task that would write more ends the query.
 *
 * Compiled at set-up by the compiler that is part of Spark (`compile`), which knows neither lambdas nor the types of
 * generic results.
 */
public final class AnswerFiles {

  /** By folder, how many bytes may still be written there; less than none where it was too much. */
  private static final ConcurrentHashMap LEFT = new ConcurrentHashMap();

  private AnswerFiles() {}

  /**
   * Write batches of rows to a folder: of each partition that has any a file, named by its number, so that names are in the
   * order of the rows. A batch has its length in four bytes before it. False where they are larger than `mostBytes`: then
   * files are there, but not all of them.
   */
  public static boolean write(JavaRDD batches, String folder, long mostBytes) throws Throwable {
    AtomicLong left = new AtomicLong(mostBytes);
    LEFT.put(folder, left);
    RDD rows = batches.rdd();
    try {
      rows.context().runJob(rows, new Writing(folder), ClassTag$.MODULE$.apply(Object.class));
      return true;
    } catch (Throwable error) {
      if (left.get() < 0L) {
        return false;
      }
      throw error;
    } finally {
      LEFT.remove(folder);
    }
  }

  /** The batches of a task, written to its file. */
  public static final class Writing extends AbstractFunction2 implements Serializable {

    private final String folder;

    public Writing(String folder) {
      this.folder = folder;
    }

    public Object apply(Object context, Object given) {
      try {
        this.write((TaskContext) context, (Iterator) given);
      } catch (IOException error) {
        throw new RuntimeException(error.toString(), error);
      }
      return null;
    }

    private void write(TaskContext context, Iterator batches) throws IOException {
      if (!batches.hasNext()) {
        return;
      }
      AtomicLong left = (AtomicLong) LEFT.get(this.folder);
      File file = new File(this.folder, String.format("%010d", new Object[] {Integer.valueOf(context.partitionId())}));
      DataOutputStream output = new DataOutputStream(new BufferedOutputStream(new FileOutputStream(file)));
      try {
        while (batches.hasNext()) {
          byte[] batch = (byte[]) batches.next();
          // Where the answer has ended, nobody waits for what is left of it.
          if (left == null || left.addAndGet(-4L - (long) batch.length) < 0L || context.isInterrupted()) {
            throw new IllegalStateException("the answer is too large, or nobody waits for it");
          }
          output.writeInt(batch.length);
          output.write(batch);
        }
      } finally {
        output.close();
      }
    }
  }
}
