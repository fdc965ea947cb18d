package reconciler;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.api.python.PythonSQLUtils$;
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
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/**
 * Few rows, to Spark and from it, as batches of Arrow, without a job for the way.
 *
 * - `frame` makes a relation of rows. It is one partition, and says so: what joins and groups such relations needs no exchange,
 *   and so runs as one job. It tells Spark its size, but neither how many rows it has nor what is in them: Spark shall
 *   make of a query what it makes of it over a table, and not settle parts of it before it runs.
 * - `collect` runs a query and gives its rows, unless they are more than a limit. A task counts each row before it keeps
 *   anything of it, and ends at the limit: so what a task holds, and what comes to the driver, is bounded, however much a
 *   query makes of its input.
 *
 * Moments are told in UTC, whatever a session's zone is: they are the same instants.
 *
 * Compiled at set-up by the compiler that is part of Spark (`compile`), which knows neither lambdas nor the types of
 * generic results.
 */
public final class SmallRows {

  private static final String ZONE = "UTC";

  private SmallRows() {}

  /** The rows of a stream of Arrow, which stands in a file, as a frame; the schema is Spark's, as JSON. */
  public static Dataset frame(SparkSession session, String file, String schema) {
    StructType columns = (StructType) DataType.fromJson(schema);
    ArrayList batches = new ArrayList();
    long bytes = 0;
    Iterator stream = PythonSQLUtils$.MODULE$.readArrowStreamFromFile(file);
    while (stream.hasNext()) {
      byte[] batch = (byte[]) stream.next();
      bytes += (long) batch.length;
      batches.add(batch);
    }
    JavaSparkContext context = JavaSparkContext.fromSparkContext(session.sparkContext());
    RDD rows = context.parallelize(batches, 1).rdd().mapPartitions(
        new Reading(columns), false, ClassTag$.MODULE$.apply(InternalRow.class));
    LogicalPlan plan = new LogicalRDD(
        DataTypeUtils.toAttributes(columns),
        rows,
        SinglePartition$.MODULE$,
        (Seq) Nil$.MODULE$,
        false,
        Option.empty(),
        session,
        Option.apply(new Statistics(
            BigInt$.MODULE$.apply(bytes), Option.empty(), AttributeMap$.MODULE$.empty(), false)),
        Option.empty());
    return Dataset.ofRows(session, plan);
  }

  /**
   * Write the rows of a frame to a file: of each of its partitions that has any a batch, its length in four bytes before it.
   * False, and nothing is written, where they are more than `mostRows`, or larger than `mostBytes` as Spark holds them.
   */
  public static boolean collect(Dataset frame, String file, int mostRows, long mostBytes) throws IOException {
    RDD rows = frame.queryExecution().toRdd();
    Collected collected = new Collected(mostRows, mostBytes);
    ((SparkSession) frame.sparkSession()).sparkContext().runJob(
        rows,
        new Bounded(frame.schema(), mostRows, mostBytes),
        collected,
        ClassTag$.MODULE$.apply(Object[].class));
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

  /** Batches of Arrow, read. */
  public static final class Reading extends AbstractFunction1 implements Serializable {

    private final StructType columns;

    public Reading(StructType columns) {
      this.columns = columns;
    }

    public Object apply(Object batches) {
      return ArrowConverters$.MODULE$.fromBatchIterator(
          (Iterator) batches, this.columns, ZONE, false, false, TaskContext.get());
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
