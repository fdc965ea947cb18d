
create materialized view avg_grade_all_courses as
select
student_id,
avg(class_avg) as avg
from avg_grade
group by student_id;
