-- What each commit changed in each folder. Where rows come from, and what becomes of them as they come, stands in pipeline.yaml.
CREATE TABLE changes (
  changed_at TIMESTAMP NOT NULL,
  package STRING NOT NULL,
  files INT NOT NULL,
  lines_added INT NOT NULL,
  lines_removed INT NOT NULL
) WITH ('append_only' = 'true');

-- Of sessions that are equally long, the last one.
CREATE MATERIALIZED VIEW longest_sessions AS
SELECT package, longest.began, longest.minutes, longest.commits, longest.lines, sessions, commits AS commits_in_all
FROM (
  SELECT
    package,
    max(named_struct(
      'minutes', timestampdiff(MINUTE, began, ended), 'began', began, 'commits', commits, 'lines', lines_added + lines_removed
    )) AS longest,
    count(*) AS sessions,
    sum(commits) AS commits
  FROM sessions
  GROUP BY package
);
