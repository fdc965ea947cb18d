"""What a new repository has in its files: texts, by their paths. `new_repository` says which of them are written where."""

import json
import re
from typing import Final

from reconciler.base.dataclass import dataclass
from reconciler.environment.source import MANIFEST_FILE, pipeline_folder

PROJECT: Final = """\
# yaml-language-server: $schema=schemas/project.schema.json
# The environments that pipelines are applied to. Commands act on the default one; --env names another.
default: dev
environments:
  dev:
    # Tables, views and the registry: a folder that git ignores, so each person has their own.
    warehouse: .reconcile/warehouse

  # An environment that several people share needs more. Uncomment the lines below, and fill in your own values.
  # prod:
  #   # A shared folder or a bucket. Its credentials are environment variables (AWS_ACCESS_KEY_ID, ...).
  #   warehouse: s3://my-bucket/warehouse
  #   # Apply only what is merged to this branch.
  #   branch: main
  #   # The first apply of a pipeline needs an approval, too.
  #   first_apply: await_approval
  #   # Values that differ between environments: ${var:lake} in a pipeline's connectors.
  #   variables: {lake: "s3://my-lake"}
  #   # Without it, Spark runs on the machine of the command.
  #   spark: {spark.master: "yarn"}
"""

IGNORED: Final = ".reconcile/"
"""The line of .gitignore: the warehouse of `dev`."""

_PIPELINE: Final = """\
# yaml-language-server: $schema=../../schemas/pipeline.schema.json
# The settings of the pipeline. Its tables and views are in the SQL files of this folder.
apiVersion: reconciler/v1
kind: Pipeline
metadata:
  name: {word}
  description: What customers spend
spec:
  # A change waits until its plan is approved; the first apply changes nothing that exists, and needs no approval.
  bootstrap_policy: await_approval
  connectors:
    # Reads each file of the folder once.
    - name: files
      table: orders
      transport: {{name: file_input, config: {{path: {data}}}}}
      format: {{name: csv, config: {{header: true}}}}
"""

_PROGRAM: Final = """\
CREATE TABLE orders (
  id BIGINT NOT NULL PRIMARY KEY,
  customer STRING,
  price DECIMAL(10,2),
  day DATE
);

CREATE MATERIALIZED VIEW revenue AS
SELECT customer, sum(price) AS revenue
FROM orders
GROUP BY customer;

CREATE MATERIALIZED VIEW good_customers AS
SELECT customer
FROM revenue
WHERE revenue >= 20;
"""

_DATA: Final = """\
id,customer,price,day
1,ada,10.50,2026-01-05
2,ben,20.00,2026-01-06
3,ada,4.25,2026-01-30
"""

QUERY: Final = "SELECT * FROM revenue ORDER BY customer"
"""What shows rows of the example."""

_WORKFLOW: Final = """\
# Plans pull requests, and applies what is merged. docs/github.md of reconciler explains each line.
name: pipelines
on:
  pull_request:
  push:
    branches: [{branch}]
jobs:
  {environment}:
    uses: {repository}/.github/workflows/reconcile.yml@{ref}
    with:
      reconciler: {repository}
      reconciler-ref: {word}
      environment: {environment}
      # A warehouse in a folder is new on each of these runners, so each job plans and applies everything: a check.
      # To keep a warehouse, use a bucket or a shared folder: set its environment, its runners, its credentials.
      runner: ubuntu-latest
      # protection: production
    # secrets:
    #   plan_credentials: ${{{{ secrets.REGISTRY_READ }}}}
    #   apply_credentials: ${{{{ secrets.REGISTRY_WRITE }}}}
    permissions:
      contents: read
      pull-requests: write
"""


@dataclass(frozen=True, slots=True)
class Origin:
    """The repository on GitHub from which a workflow installs reconciler, and the tag or commit of it."""

    repository: str
    ref: str


def data_folder(name: str) -> str:
    """Where the rows of the example of a pipeline are, relative to the root."""
    return f"data/{name}"


def example(name: str) -> dict[str, str]:
    """The files of the example, pipeline.yaml last: while it is missing, the example is not complete."""
    return {
        f"{data_folder(name)}/january.csv": _DATA,
        f"{pipeline_folder(name)}/program.sql": _PROGRAM,
        f"{pipeline_folder(name)}/{MANIFEST_FILE}": _PIPELINE.format(word=_word(name), data=data_folder(name)),
    }


def workflow(origin: Origin, environment: str, branch: str) -> str:
    """The workflow for one environment, to which what is merged to that branch is applied."""
    return _WORKFLOW.format(
        repository=origin.repository,
        ref=origin.ref,
        word=_word(origin.ref),
        environment=_word(environment),
        branch=_listed(branch),
    )


def _listed(branch: str) -> str:
    """A branch's name within a list of YAML: signs that GitHub takes for a pattern are meant as they are."""
    word = re.sub(r"([*?+!\[\]\\])", r"\\\1", branch)
    return _word(word) if re.fullmatch(r"[\w./-]+", word) else json.dumps(word)


def _word(text: str) -> str:
    """A text as a value of YAML: as it is, unless YAML takes it for something else (`on`, `null`, `1.0`)."""
    import yaml

    return text if yaml.safe_load(text) == text else json.dumps(text)
