package reconciler;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.nio.channels.ReadableByteChannel;
import java.util.ArrayList;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.AttributeMap$;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.plans.physical.SinglePartition$;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.arrow.ArrowConverters$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.math.BigInt$;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/**
 * Few rows, to Spark and from it, as batches of Arrow, without a job for the way.
 *
 * - `given` makes a relation of rows. It is one partition, and says so: what joins and groups such relations needs no exchange,
 *   and so runs as one job. It tells Spark its size, but neither how many rows it has nor what is in them: Spark shall
 *   make of a query what it makes of it over a table, and not settle parts of it before it runs.
 * - `collect` runs a query and gives its rows, unless they are more than a limit. A task counts each row before it keeps
 *   anything of it, and ends at the limit: so what a task holds, and what comes to the driver, is bounded, however much a
 *   query makes of its input.
 *
 * A query over such relations alone may run again over other rows of theirs (`SmallQuery`).
 *
 * Moments are told in UTC, whatever a session's zone is: they are the same instants.
 *
 * Compiled at set-up by the compiler that is part of Spark (`compile`), which knows neither lambdas nor the types of
 * generic results.
 */
public final class SmallRows {

  private static final String ZONE = "UTC";

  private SmallRows() {}

  /** A relation of the rows of a stream of Arrow, which stands in a file; the schema is Spark's, as JSON. */
  public static Given given(SparkSession session, String file, String schema) throws IOException {
    StructType columns = (StructType) DataType.fromJson(schema);
    Batches batches = new Batches();
    ReadableByteChannel stream = new FileInputStream(file).getChannel();
    try {
      batches.read(stream);
    } finally {
      stream.close();
    }
    return new Given(session.sparkContext(), columns, batches);
  }

  /** The rows of a frame: see `write`. */
  public static boolean collect(Dataset frame, String file, int mostRows, long mostBytes) throws IOException {
    return write(frame.queryExecution().toRdd(), frame.schema(), file, mostRows, mostBytes);
  }

  /**
   * Write rows to a file: of each of their partitions that has any a batch, its length in four bytes before it. False, and
   * nothing is written, where they are more than `mostRows`, or larger than `mostBytes` as Spark holds them.
   */
  static boolean write(RDD rows, StructType columns, String file, int mostRows, long mostBytes)
      throws IOException {
    Collected collected = new Collected(mostRows, mostBytes);
    rows.sparkContext().runJob(
        rows, new Bounded(columns, mostRows, mostBytes), collected, ClassTag$.MODULE$.apply(Object[].class));
    return write(collected, file);
  }

  static boolean write(Collected collected, String file) throws IOException {
    if (collected.isOver) {
      return false;
    }
    DataOutputStream output = new DataOutputStream(new BufferedOutputStream(new FileOutputStream(file)));
    try {
      for (int index = 0; index < collected.batches.size(); index++) {
        byte[] batch = (byte[]) collected.batches.get(index);
        output.writeInt(batch.length);
        output.write(batch);
      }
    } finally {
      output.close();
    }
    return true;
  }

  /** A relation of one partition, whose rows are given. */
  public static final class Given extends RDD {

    private final StructType columns;
    final transient Batches batches;

    Given(SparkContext context, StructType columns, Batches batches) {
      super(context, (Seq) Nil$.MODULE$, ClassTag$.MODULE$.apply(InternalRow.class));
      this.columns = columns;
      this.batches = batches;
    }

    public Partition[] getPartitions() {
      return new Partition[] {this.batches};
    }

    public Iterator compute(Partition batches, TaskContext context) {
      return ArrowConverters$.MODULE$.fromBatchIterator(
          new Batch(((Batches) batches).batches), this.columns, ZONE, false, false, context);
    }

    /** The relation as a frame. */
    public Dataset frame(SparkSession session) {
      LogicalPlan plan = new LogicalRDD(
          DataTypeUtils.toAttributes(this.columns),
          this,
          SinglePartition$.MODULE$,
          (Seq) Nil$.MODULE$,
          false,
          Option.empty(),
          session,
          Option.apply(new Statistics(
              BigInt$.MODULE$.apply(this.batches.bytes()), Option.empty(), AttributeMap$.MODULE$.empty(), false)),
          Option.empty());
      return Dataset.ofRows(session, plan);
    }
  }

  /** The partition of a relation. It goes to a task with the rows that it has then. */
  public static final class Batches implements Partition {

    byte[][] batches = new byte[0][];

    public int index() {
      return 0;
    }

    /** What Spark's own partitions get from Scala's compiler. */
    public boolean org$apache$spark$Partition$$super$equals(Object other) {
      return this == other;
    }

    /** Take the next stream of Arrow for its rows. */
    void read(ReadableByteChannel streams) {
      ArrayList found = new ArrayList();
      Iterator batches = ArrowConverters$.MODULE$.getBatchesFromStream(streams);
      while (batches.hasNext()) {
        found.add(batches.next());
      }
      this.batches = (byte[][]) found.toArray(new byte[found.size()][]);
    }

    long bytes() {
      long bytes = 0;
      for (int index = 0; index < this.batches.length; index++) {
        bytes += (long) this.batches[index].length;
      }
      return bytes;
    }
  }

  /** Batches, one after the other. */
  public static final class Batch extends AbstractIterator {

    private final byte[][] batches;
    private int next = 0;

    Batch(byte[][] batches) {
      this.batches = batches;
    }

    public boolean hasNext() {
      return this.next < this.batches.length;
    }

    public Object next() {
      return this.batches[this.next++];
    }
  }

  /** What tasks gave, as each is done; nothing is kept any more once it is too much. */
  public static final class Collected extends AbstractFunction2 {

    final ArrayList batches = new ArrayList();
    boolean isOver = false;
    private int count = 0;
    private long bytes = 0;
    private final int mostRows;
    private final long mostBytes;

    Collected(int mostRows, long mostBytes) {
      this.mostRows = mostRows;
      this.mostBytes = mostBytes;
    }

    public synchronized Object apply(Object index, Object given) {
      Object[] part = (Object[]) given;
      this.count += ((Integer) part[0]).intValue();
      this.bytes += ((Long) part[1]).longValue();
      if (part[2] == null || this.count > this.mostRows || this.bytes > this.mostBytes) {
        this.isOver = true;
        this.batches.clear();
      } else if (!this.isOver && ((byte[]) part[2]).length > 0) {
        this.batches.add(part[2]);
      }
      return BoxedUnit.UNIT;
    }
  }

  /** Rows of a task as one batch, with how many they are and how large; no batch where there are too many. */
  public static final class Bounded extends AbstractFunction2 implements Serializable {

    private final StructType columns;
    private final int mostRows;
    private final long mostBytes;

    public Bounded(StructType columns, int mostRows, long mostBytes) {
      this.columns = columns;
      this.mostRows = mostRows;
      this.mostBytes = mostBytes;
    }

    public Object apply(Object context, Object rows) {
      Counted counted = new Counted((Iterator) rows, this.columns, this.mostRows, this.mostBytes);
      byte[] batch = new byte[0];
      Iterator batches = ArrowConverters$.MODULE$.toBatchIterator(
          counted, this.columns, (long) this.mostRows + 1L, ZONE, false, false, (TaskContext) context);
      if (counted.hasNext()) {
        batch = (byte[]) batches.next();
      }
      return new Object[] {
        Integer.valueOf(counted.count), Long.valueOf(counted.bytes), counted.isOver ? null : batch
      };
    }
  }

  /** Rows that are counted as they are taken; they end where there are too many. */
  public static final class Counted extends AbstractIterator {

    int count = 0;
    long bytes = 0;
    boolean isOver = false;
    private final Iterator rows;
    private final StructType columns;
    private final int mostRows;
    private final long mostBytes;
    private UnsafeProjection projection = null;
    private InternalRow next = null;

    Counted(Iterator rows, StructType columns, int mostRows, long mostBytes) {
      this.rows = rows;
      this.columns = columns;
      this.mostRows = mostRows;
      this.mostBytes = mostBytes;
    }

    public boolean hasNext() {
      if (this.next != null) {
        return true;
      }
      if (this.isOver || !this.rows.hasNext()) {
        return false;
      }
      UnsafeRow row = this.unsafe(this.rows.next());
      this.count++;
      this.bytes += (long) row.getSizeInBytes();
      if (this.count > this.mostRows || this.bytes > this.mostBytes) {
        this.isOver = true;
        return false;
      }
      this.next = row;
      return true;
    }

    public Object next() {
      this.hasNext();
      InternalRow row = this.next;
      this.next = null;
      return row;
    }

    private UnsafeRow unsafe(Object row) {
      if (row instanceof UnsafeRow) {
        return (UnsafeRow) row;
      }
      if (this.projection == null) {
        this.projection = UnsafeProjection.create(this.columns);
      }
      return this.projection.apply((InternalRow) row);
    }
  }
}
