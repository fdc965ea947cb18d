"""A connector's options of its object store, as Hadoop's file systems want them.

`fs.…` is handed on as it is. The usual names for S3 are translated; for other stores the `fs.…` names have to be given, and
an option that would be lost is an error. The options hold for reading the source only, never for the table written to.
"""

from pyspark.sql import SparkSession

from reconciler.base.digest import JsonObject
from reconciler.base.errors import EngineError
from reconciler.engine.spark.locations import Sessions, scheme_and_authority, spark_location

_S3 = {
    "aws_access_key_id": "fs.s3a.access.key",
    "aws_secret_access_key": "fs.s3a.secret.key",
    "aws_session_token": "fs.s3a.session.token",
    "aws_region": "fs.s3a.endpoint.region",
    "aws_endpoint": "fs.s3a.endpoint",
    "aws_endpoint_url": "fs.s3a.endpoint",
}
_STORES = ("aws_", "azure_", "google_")
_S3_SWITCHES = {
    # A public bucket: requests are not signed.
    "aws_skip_signature": {"fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"},
    "aws_allow_http": {"fs.s3a.connection.ssl.enabled": "false", "fs.s3a.path.style.access": "true"},
}
"""What an option means that is on or off; off is what Hadoop does by itself."""


def storage_options(config: JsonObject, location: str) -> dict[str, str]:
    """Hadoop's options for a connector that reads a location. Raises EngineError (X716) for one without translation."""
    options: dict[str, str] = {}
    for name, value in sorted(config.items()):
        if name.startswith("fs."):
            options[name] = str(value).lower() if isinstance(value, bool) else str(value)
        elif name in _S3:
            options[_S3[name]] = str(value)
        elif name in _S3_SWITCHES:
            options |= _S3_SWITCHES[name] if str(value).lower() == "true" else {}
        elif name.startswith(_STORES):
            raise EngineError("X716", f"the engine has no option {name}", "use Hadoop's own option: fs.…")
    scheme, _ = scheme_and_authority(spark_location(location))
    if options and len(scheme) > 1:
        # Hadoop keeps one client for each bucket, whatever options it was made with.
        options[f"fs.{scheme}.impl.disable.cache"] = "true"
    return options


def sessions_with(sessions: Sessions, options: dict[str, str]) -> Sessions:
    """Sessions whose file systems have these options: for looking, not for writing."""

    def session() -> SparkSession:
        own = sessions().newSession()
        for name, value in options.items():
            own.conf.set(name, value)
        return own

    return session if options else sessions
