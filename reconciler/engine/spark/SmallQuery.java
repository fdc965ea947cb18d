package reconciler;

import java.io.FileInputStream;
import java.io.IOException;
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
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext$;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.rdd.EmptyRDD;
import org.apache.spark.rdd.ParallelCollectionRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.serializer.SerializerInstance;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreePattern$;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.execution.CoalesceExec;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.QueryExecution$;
import org.apache.spark.sql.execution.SQLExecutionRDD;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnionExec;
import org.apache.spark.sql.execution.WholeStageCodegenExec;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.execution.joins.BroadcastNestedLoopJoinExec;
import org.apache.spark.sql.execution.joins.CartesianProductExec;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SQLConf$;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.DatetimeType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.xerial.snappy.Snappy;
import scala.Function1;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractFunction0;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

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
public final class SmallQuery {

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

  private SmallQuery(QueryExecution query, StructType columns, SparkPlan plan, boolean interpretsParts) {
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
  public static SmallQuery of(Dataset frame, boolean interpretsParts) {
    QueryExecution query = frame.queryExecution();
    return (SmallQuery) query.sparkSession().withActive(new Planning(query, frame.schema(), interpretsParts));
  }

  /** The next of its relations. */
  public void add(SmallRows.Given relation) {
    this.relations.add(relation.batches);
  }

  /** What it gives: see `write`. */
  public boolean collect(String output, int mostRows, long mostBytes) throws IOException {
    return SmallRows.write(this.rows, this.columns, output, mostRows, mostBytes);
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
        ((SmallRows.Batches) this.relations.get(index)).read(streams);
      }
      if (this.rows != null && !(atOnce && this.task != null)) {
        return this.collect(output, mostRows, mostBytes);
      }
      SmallRows.Collected collected = new SmallRows.Collected(mostRows, mostBytes);
      Running running = new Running(this, new SmallRows.Bounded(this.columns, mostRows, mostBytes), collected);
      // Parts are made with the settings while rows are asked for, too.
      SQLConf$.MODULE$.withExistingConf(this.settings, running);
      return SmallRows.write(collected, output);
    } finally {
      streams.close();
      this.release();
    }
  }

  /**
   * Run it in this thread, as Spark runs a task: of a copy that was serialized once, with memory of its own. Of a small job,
   * Spark takes most of the time for making tasks, handing them over and telling of them. It can't be stopped.
   */
  void run(SmallRows.Bounded bounded, SmallRows.Collected collected) {
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
      ((SmallRows.Batches) relations[place]).batches = ((SmallRows.Batches) this.relations.get(place)).batches;
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
      ((SmallRows.Batches) this.relations.get(index)).batches = new byte[0][];
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
      return rows instanceof SmallRows.Given || rows instanceof ParallelCollectionRDD || rows instanceof EmptyRDD;
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

  /** A query that runs in this thread. */
  public static final class Running extends AbstractFunction0 {

    private final SmallQuery query;
    private final SmallRows.Bounded bounded;
    private final SmallRows.Collected collected;

    Running(SmallQuery query, SmallRows.Bounded bounded, SmallRows.Collected collected) {
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
      SparkPlan known = SmallQuery.isKnown(plan) ? plan : this.query.executedPlan();
      return new SmallQuery(this.query, this.columns, known, this.interpretsParts);
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
}
