package reconciler;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.lang.ref.SoftReference;
import java.nio.ByteBuffer;
import java.nio.channels.ReadableByteChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import org.apache.spark.Dependency;
import org.apache.spark.NarrowDependency;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.rdd.EmptyRDD;
import org.apache.spark.rdd.ParallelCollectionRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.AttributeMap$;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.catalyst.plans.physical.SinglePartition$;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.catalyst.types.DataTypeUtils;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.CoalesceExec;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.QueryExecution$;
import org.apache.spark.sql.execution.SQLExecutionRDD;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnionExec;
import org.apache.spark.sql.execution.WholeStageCodegenExec;
import org.apache.spark.sql.execution.arrow.ArrowConverters$;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.execution.joins.BroadcastNestedLoopJoinExec;
import org.apache.spark.sql.execution.joins.CartesianProductExec;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DatetimeType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.xerial.snappy.Snappy;
import scala.Function1;
import scala.Option;
import scala.collection.AbstractIterator;
import scala.collection.Iterator;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.math.BigInt$;
import scala.reflect.ClassTag;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;
import scala.runtime.AbstractPartialFunction;
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
 * - `Query` is a query over such relations alone. It is planned once, and may run again over other rows of theirs: Spark takes
 *   longer to plan a query of few rows than to run it.
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
  private static boolean write(RDD rows, StructType columns, String file, int mostRows, long mostBytes)
      throws IOException {
    Collected collected = new Collected(mostRows, mostBytes);
    rows.sparkContext().runJob(
        rows, new Bounded(columns, mostRows, mostBytes), collected, ClassTag$.MODULE$.apply(Object[].class));
    return write(collected, file);
  }

  private static boolean write(Collected collected, String file) throws IOException {
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
    private final transient Batches batches;

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

  /**
   * A query over relations that are given. Each is one partition. What is joined or united of them is not known to Spark as
   * one, and it would exchange the rows. They are put together here: a partition that has all rows has those of each key.
   *
   * It may run again, over other rows, where its plan keeps nothing. What Spark's plans may keep is what an exchange, a
   * subquery or a cache gave, and what was computed when they were made: what the clock said, or chance. So both is done
   * with those alone that are made of parts that are known (`PARTS`), over such relations, and it runs again where all that
   * is computed beforehand is known, too (`CONSTANT`). Others run as Spark plans them. One that compares all rows of
   * relations with all of others is none of these: how long that takes depends on the rows.
   */
  public static final class Query {

    private static final Set PARTS = new HashSet(Arrays.asList(new String[] {
      "CoalesceExec", "ExpandExec", "FilterExec", "GenerateExec", "GlobalLimitExec", "HashAggregateExec",
      "InputAdapter", "LocalLimitExec", "LocalTableScanExec", "ObjectHashAggregateExec", "OneRowRelationExec",
      "ProjectExec", "RDDScanExec", "ShuffledHashJoinExec", "SortAggregateExec", "SortExec", "SortMergeJoinExec",
      "TakeOrderedAndProjectExec", "UnionExec", "WholeStageCodegenExec", "WindowExec", "WindowGroupLimitExec"
    }));

    private static final Set CONSTANT = new HashSet(Arrays.asList(new String[] {
      "Abs", "Add", "AddMonths", "And", "CaseWhen", "Coalesce", "Concat", "CreateArray", "CreateMap",
      "CreateNamedStruct", "DateAdd", "DateAddInterval", "DateAddYMInterval", "DateSub", "DatetimeSub", "Divide",
      "EqualNullSafe", "EqualTo", "ExtractANSIIntervalDays", "GreaterThan", "GreaterThanOrEqual", "If",
      "IntegralDivide", "IsNotNull", "IsNull", "LessThan", "LessThanOrEqual", "Lower", "Multiply", "Not", "Or",
      "Remainder", "Subtract", "TimestampAddInterval", "TimestampAddYMInterval", "UnaryMinus",
      "UnaryPositive", "Upper"
    }));
    private static final Pattern FULL_DATE = Pattern.compile("^\\s*[0-9]{4,}-[0-9]");

    /** Numbers of tasks that Spark does not give: it counts upwards. */
    private static final AtomicLong TASKS = new AtomicLong(Long.MAX_VALUE);

    private final StructType columns;
    private final SQLConf settings;
    private final ArrayList relations = new ArrayList();
    private QueryExecution query;
    private SparkPlan plan;
    private RDD rows;
    private byte[] task = null;
    private int partitions = 0;
    private SoftReference copy = new SoftReference(null);

    private Query(QueryExecution query, StructType columns, SparkPlan plan, boolean interpretsParts) {
      this.query = query;
      this.columns = columns;
      this.plan = plan;
      this.settings = query.sparkSession().sessionState().conf().clone();
      if (interpretsParts) {
        this.settings.setConfString(SQLConf$.MODULE$.CODEGEN_FACTORY_MODE().key(), "NO_CODEGEN");
      }
      this.rows = new SQLExecutionRDD(plan.execute(), this.settings);
    }

    /**
     * The query of a frame. `interpretsParts`: whatever code its plan has, the small parts that Spark makes each time that
     * it runs are interpreted. To write code for these takes longer than few rows do.
     */
    public static Query of(Dataset frame, boolean interpretsParts) {
      QueryExecution query = frame.queryExecution();
      return (Query) query.sparkSession().withActive(new Planning(query, frame.schema(), interpretsParts));
    }

    /** The next of its relations. */
    public void add(Given relation) {
      this.relations.add(relation.batches);
    }

    /** What it gives: see `write`. */
    public boolean collect(String output, int mostRows, long mostBytes) throws IOException {
      return write(this.rows, this.columns, output, mostRows, mostBytes);
    }

    /**
     * What it gives of the rows of a file, in which the streams of all relations stand one after the other. `atOnce`: it
     * takes so short that nobody needs to stop it.
     */
    public boolean repeat(String input, String output, int mostRows, long mostBytes, boolean atOnce)
        throws IOException {
      ReadableByteChannel streams = new FileInputStream(input).getChannel();
      try {
        for (int index = 0; index < this.relations.size(); index++) {
          ((Batches) this.relations.get(index)).read(streams);
        }
        if (this.rows != null && !(atOnce && this.task != null)) {
          return this.collect(output, mostRows, mostBytes);
        }
        Collected collected = new Collected(mostRows, mostBytes);
        Running running = new Running(this, new Bounded(this.columns, mostRows, mostBytes), collected);
        // Parts are made with the settings while rows are asked for, too.
        SQLConf$.MODULE$.withExistingConf(this.settings, running);
        return write(collected, output);
      } finally {
        streams.close();
        this.release();
      }
    }

    /**
     * Run it in this thread, as Spark runs a task: of a copy that was serialized once, with memory of its own. Of a small job,
     * Spark takes most of the time for making tasks, handing them over and telling of them. It can't be stopped.
     */
    void run(Bounded bounded, Collected collected) {
      SparkEnv environment = SparkEnv.get();
      for (int index = 0; index < this.partitions && !collected.isOver; index++) {
        long number = TASKS.decrementAndGet();
        TaskMemoryManager memory = new TaskMemoryManager(environment.memoryManager(), number);
        TaskContextImpl context = new TaskContextImpl(
            0, 0, index, number, 0, this.partitions, memory, new Properties(), environment.metricsSystem(),
            TaskMetrics.empty(), 1, TaskContextImpl.$lessinit$greater$default$12());
        TaskContext$.MODULE$.setTaskContext(context);
        Throwable failure = null;
        try {
          Object[] work = this.work();
          Partition partition = ((Partition[]) work[1])[index];
          collected.apply(Integer.valueOf(index), bounded.apply(context, ((RDD) work[0]).iterator(partition, context)));
        } catch (Throwable thrown) {
          failure = thrown;
          this.copy.clear();
          context.markTaskFailed(thrown);
          throw new IllegalStateException(thrown);
        } finally {
          try {
            context.markTaskCompleted(Option.apply(failure));
          } finally {
            memory.cleanUpAllAllocatedMemory();
            environment.memoryManager().releaseAllExecutionMemoryForTask(number);
            TaskContext$.MODULE$.unset();
          }
        }
      }
    }

    /**
     * The copy, with the rows of the relations. It serves again, for as long as there is room for it: to read it takes a
     * third of a small query's time. That a task computes several partitions by one copy, one after the other, is usual.
     */
    private Object[] work() throws IOException {
      Object[] work = (Object[]) this.copy.get();
      if (work == null) {
        SerializerInstance serializer = SparkEnv.get().closureSerializer().newInstance();
        ByteBuffer written = ByteBuffer.wrap(Snappy.uncompress(this.task));
        work = (Object[]) serializer.deserialize(written, ClassTag$.MODULE$.apply(Object[].class));
        this.copy = new SoftReference(work);
      }
      this.give((Object[]) work[2]);
      return work;
    }

    /** Give these relations the rows that its own have. */
    private void give(Object[] relations) {
      for (int place = 0; place < relations.length; place++) {
        ((Batches) relations[place]).batches = ((Batches) this.relations.get(place)).batches;
      }
    }

    /**
     * Whether it may run again. Then it lets its rows go, and all else that it does not need for that: a plan and its session
     * take a megabyte. `isOfFewRows`: it will not run over many, for which there is a job of Spark's.
     */
    public boolean keep(boolean isOfFewRows) throws IOException {
      if (!isFixed(this.query.analyzed()) || !isKnown(this.plan) || !isGiven(this.rows)) {
        return false;
      }
      this.release();
      if (!this.rows.sparkContext().isLocal()) {
        return true;
      }
      // Parts of one whole: the copy's relations are those of its partitions.
      Object[] work = new Object[] {this.rows, this.rows.partitions(), this.relations.toArray()};
      ByteBuffer written =
          SparkEnv.get().closureSerializer().newInstance().serialize(work, ClassTag$.MODULE$.apply(Object[].class));
      this.task = Snappy.compress(Arrays.copyOf(written.array(), written.limit()));
      this.partitions = this.rows.partitions().length;
      // Code that is broadcast is gone with the plan.
      boolean mayBeBroadcast = this.settings.broadcastCleanedSourceThreshold() >= 0;
      if (isOfFewRows && !(mayBeBroadcast && has(this.plan, WholeStageCodegenExec.class))) {
        this.query = null;
        this.plan = null;
        this.rows = null;
      }
      return true;
    }

    private void release() {
      for (int index = 0; index < this.relations.size(); index++) {
        ((Batches) this.relations.get(index)).batches = new byte[0][];
      }
      Object[] work = (Object[]) this.copy.get();
      if (work != null) {
        this.give((Object[]) work[2]);
      }
    }

    /** Whether it compares all rows of relations with all rows of others. */
    public boolean hasLoops() {
      return has(this.plan, CartesianProductExec.class) || has(this.plan, BroadcastNestedLoopJoinExec.class);
    }

    private static boolean has(SparkPlan plan, Class part) {
      if (part.isInstance(plan)) {
        return true;
      }
      for (Object one : CollectionConverters.asJava(plan.children())) {
        if (has((SparkPlan) one, part)) {
          return true;
        }
      }
      return false;
    }

    private static boolean isKnown(SparkPlan plan) {
      if (!PARTS.contains(nameOf(plan)) || plan.subqueries().nonEmpty()) {
        return false;
      }
      for (Object one : CollectionConverters.asJava(plan.children())) {
        if (!isKnown((SparkPlan) one)) {
          return false;
        }
      }
      return true;
    }

    private static boolean isGiven(RDD rows) {
      if (rows.dependencies().isEmpty()) {
        return rows instanceof Given || rows instanceof ParallelCollectionRDD || rows instanceof EmptyRDD;
      }
      for (Object one : CollectionConverters.asJava(rows.dependencies())) {
        Dependency dependency = (Dependency) one;
        if (!(dependency instanceof NarrowDependency) || !isGiven(dependency.rdd())) {
          return false;
        }
      }
      return true;
    }

    /** Whether Spark makes the same plan of a query at any time: nothing that it computes beforehand takes chance or a clock. */
    private static boolean isFixed(LogicalPlan plan) {
      // What VALUES says was computed when the query was read.
      if (plan.containsPattern(TreePattern$.MODULE$.CURRENT_LIKE()) || plan instanceof LocalRelation) {
        return false;
      }
      for (Object one : CollectionConverters.asJava(plan.expressions())) {
        if (!isFixed((Expression) one)) {
          return false;
        }
      }
      for (Object one : CollectionConverters.asJava(plan.children())) {
        if (!isFixed((LogicalPlan) one)) {
          return false;
        }
      }
      return true;
    }

    private static boolean isFixed(Expression expression) {
      if (expression.foldable()) {
        return isConstant(expression);
      }
      if (expression instanceof PlanExpression && !isFixed((LogicalPlan) ((PlanExpression) expression).plan())) {
        return false;
      }
      if (expression instanceof RuntimeReplaceable && !isFixed(((RuntimeReplaceable) expression).replacement())) {
        return false;
      }
      for (Object one : CollectionConverters.asJava(expression.children())) {
        if (!isFixed((Expression) one)) {
          return false;
        }
      }
      return true;
    }

    /** Whether an expression that Spark computes beforehand is made of what is known to give the same each time. */
    private static boolean isConstant(Expression expression) {
      if (expression instanceof Literal) {
        return true;
      }
      if (expression instanceof Cast ? !isConstant((Cast) expression) : !CONSTANT.contains(nameOf(expression))) {
        return false;
      }
      for (Object one : CollectionConverters.asJava(expression.children())) {
        if (!isConstant((Expression) one)) {
          return false;
        }
      }
      return true;
    }

    /** Of texts, `today` is a date to Spark, and `10:30` a moment of today. */
    private static boolean isConstant(Cast cast) {
      if (!(cast.dataType() instanceof AtomicType)) {
        return false;
      }
      if (!(cast.dataType() instanceof DatetimeType) || !(cast.child().dataType() instanceof StringType)) {
        return true;
      }
      return cast.child() instanceof Literal && FULL_DATE.matcher(String.valueOf(((Literal) cast.child()).value())).find();
    }

    private static String nameOf(Object part) {
      return part.getClass().getSimpleName();
    }
  }

  /** A query that runs in this thread. */
  public static final class Running extends AbstractFunction0 {

    private final Query query;
    private final Bounded bounded;
    private final Collected collected;

    Running(Query query, Bounded bounded, Collected collected) {
      this.query = query;
      this.bounded = bounded;
      this.collected = collected;
    }

    public Object apply() {
      this.query.run(this.bounded, this.collected);
      return BoxedUnit.UNIT;
    }
  }

  /** The plan of a query, in one partition. */
  public static final class Planning extends AbstractFunction0 {

    private final QueryExecution query;
    private final StructType columns;
    private final boolean interpretsParts;

    Planning(QueryExecution query, StructType columns, boolean interpretsParts) {
      this.query = query;
      this.columns = columns;
      this.interpretsParts = interpretsParts;
    }

    public Object apply() {
      QueryExecution$ planning = QueryExecution$.MODULE$;
      // As for a subquery: then no exchange is used twice.
      Seq rules = planning.preparations(this.query.sparkSession(), planning.preparations$default$2(), true);
      SparkPlan plan = planning.prepareForExecution(rules, (SparkPlan) this.query.sparkPlan().clone());
      plan = (SparkPlan) plan.transformUp(new Together());
      SparkPlan known = Query.isKnown(plan) ? plan : this.query.executedPlan();
      return new Query(this.query, this.columns, known, this.interpretsParts);
    }
  }

  /**
   * All rows in one partition, where Spark would exchange them; and where it unites them: how a union is run depends on what
   * is known of its parts.
   */
  public static final class Together extends AbstractPartialFunction {

    public boolean isDefinedAt(Object plan) {
      return plan instanceof ShuffleExchangeExec || plan instanceof UnionExec;
    }

    public Object applyOrElse(Object plan, Function1 others) {
      if (plan instanceof ShuffleExchangeExec) {
        return new CoalesceExec(1, ((ShuffleExchangeExec) plan).child());
      }
      return plan instanceof UnionExec ? new CoalesceExec(1, (SparkPlan) plan) : others.apply(plan);
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
