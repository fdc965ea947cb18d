"""S3 as the environment's AWS_* variables describe it, for Hadoop's file systems.

The registry and the commits of views reach S3 without a JVM and read these variables themselves, so one place says for both
where S3 is. Credentials never enter a session's settings, which Spark shows to whoever asks: Spark takes AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN from the driver's environment, and hands them to executors with each job. Without
them Hadoop asks the machine for its role.

`spark.hadoop.fs.s3a.…` of reconcile.yaml wins, and is for Spark only.
"""

from collections.abc import Mapping

_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
_TRUE = frozenset({"1", "true", "on", "yes", "y"})


def hadoop_settings(variables: Mapping[str, str]) -> dict[str, str]:
    """Settings of a Spark session; none where no variable speaks of S3."""
    found: dict[str, str] = {}
    endpoint = next((variables[name] for name in _ENDPOINTS if variables.get(name)), None)
    if endpoint is not None:
        found["spark.hadoop.fs.s3a.endpoint"] = endpoint
        # Servers other than Amazon's have no name in the network for each bucket.
        virtual = variables.get("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "false").strip().lower() in _TRUE
        found["spark.hadoop.fs.s3a.path.style.access"] = "false" if virtual else "true"
        found["spark.hadoop.fs.s3a.connection.ssl.enabled"] = "false" if endpoint.startswith("http://") else "true"
    region = next((variables[name] for name in _REGIONS if variables.get(name)), None)
    if region is not None:
        found["spark.hadoop.fs.s3a.endpoint.region"] = region
    return found
