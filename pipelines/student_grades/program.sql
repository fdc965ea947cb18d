create table students (
id bigint,
name varchar
) with (
'materialized' = 'true'
);

create table grades (
student_id bigint,
class string,
grade decimal(5,2),
class_date date
) with (
'materialized' = 'true'
);

-- Average grade per student per class over a fixed date range.
create view avg_grade as
select
student_id,
  class,
AVG(grade) as class_avg
from grades
where
class_date >= date '2025-09-01' and class_date <= date '2025-12-15'
group by student_id, class;

-- Similar to avg_grade, but contains student name instead of Id.
create materialized view avg_grade_enriched as
select
name as student_name,
class,
class_avg
from
avg_grade join students on avg_grade.student_id = students.id;
