"""A bucket as a place for tables."""

from dataclasses import dataclass

from tests.s3.server import Bucket


@dataclass(frozen=True, slots=True)
class S3Lake:
    """See tests/delta/lakes.py."""

    bucket: Bucket

    def location(self, name: str) -> str:
        return f"s3://{self.bucket.name}/lake/{name}"

    def paths(self, location: str) -> set[str]:
        folder = self._key(location, "")
        return {key.removeprefix(folder) for key in self.bucket.keys(folder)}

    def put(self, location: str, path: str, text: str) -> None:
        self.bucket.put(self._key(location, path), text)

    def take(self, location: str, path: str) -> None:
        self.bucket.take(self._key(location, path))

    def age(self, location: str, path: str, moment: float) -> None:
        self.bucket.set_time(self._key(location, path), moment)

    def _key(self, location: str, path: str) -> str:
        return f"{location.removeprefix(f's3://{self.bucket.name}/')}/{path}"
