"""A bucket of S3 as a source."""

from collections.abc import AsyncGenerator
from typing import Any, Self

from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from botocore import UNSIGNED
from botocore.exceptions import BotoCoreError, ClientError
from botocore.utils import is_valid_endpoint_url
from pydantic import Field, SecretStr, model_validator

from ragstone.plugins.sources.remote_files import (
    CHUNK,
    SECONDS,
    ListedFile,
    RemoteFiles,
    ServerTrouble,
    check_address,
    explain_connection,
    explain_status,
)
from ragstone.ports.sources import SourceKind, SourceOptions, SourceParts

PAGE = 250
"""Objects that are listed at a time: reading a thousand keeps everything else waiting for .15 s."""

_REFUSALS = ("InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken")


class S3Options(SourceOptions):
    """Options of a bucket."""

    bucket: str = Field(description="The bucket's name.", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]+$")
    prefix: str = Field("", description="A folder in it.")
    endpoint: str = Field("", description="The address of a service that is not AWS.")
    region: str = Field("us-east-1", description="The region.", pattern=r"^[a-z0-9-]+$")
    key: str = Field("", description="The access key; without one, those that AWS's tools find.")
    secret: SecretStr = Field(SecretStr(""), description="The secret of the key.")

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        if self.endpoint and not is_valid_endpoint_url(check_address(self.endpoint)):
            raise ValueError("the endpoint's name has characters, such as _, that S3 does not take")
        if bool(self.key) != bool(self.secret.get_secret_value()):
            raise ValueError("key and secret go together")
        return self


class Bucket(RemoteFiles):
    """The objects of a bucket."""

    def __init__(self, parts: SourceParts[S3Options]) -> None:
        self._options = options = parts.options
        self._prefix = f"{options.prefix.strip('/')}/".lstrip("/")
        super().__init__(f"s3://{options.bucket}/{self._prefix}")
        self._session = get_session()
        # A large file, which would keep the event loop waiting later.
        self._session.get_component("data_loader").load_service_model("s3", "service-2")
        if options.key:
            self._session.set_credentials(options.key, options.secret.get_secret_value())
        self._client: Any = None

    async def _list_folder(self, folder: str) -> AsyncGenerator[ListedFile, None]:
        # Folders are only parts of names: one listing has all.
        pages = (await self._connect()).get_paginator("list_objects_v2")
        place = {"Bucket": self._options.bucket, "Prefix": self._prefix}
        async for page in pages.paginate(**place, PaginationConfig={"PageSize": PAGE}):
            for found in page.get("Contents", ()):
                path, modified = found["Key"][len(self._prefix) :], found["LastModified"]
                # Programs that show folders put empty objects in their place.
                if path and not path.endswith("/"):
                    version = found.get("ETag") or f"{found['Size']} {modified}"
                    yield ListedFile(path, False, version, modified.timestamp())

    async def _read_file(self, path: str) -> AsyncGenerator[bytes, None]:
        client, key = await self._connect(), self._prefix + path
        answer = await client.get_object(Bucket=self._options.bucket, Key=key)
        async with answer["Body"] as body:
            async for part in body.iter_chunks(CHUNK):
                yield part

    def _explain(self, error: Exception) -> ServerTrouble | None:
        match error:
            case ClientError():
                code, told = error.response["Error"]["Code"], error.response["ResponseMetadata"]
                if code in _REFUSALS:
                    return ServerTrouble(f"it refuses the key or the secret ({code})")
                if code == "NoSuchBucket":
                    return ServerTrouble("there is no such bucket")
                return explain_status(told["HTTPStatusCode"], told["HTTPHeaders"])
            case BotoCoreError() | TimeoutError():
                return explain_connection(error)
        return None

    async def _connect(self) -> Any:
        if self._client is None:
            config = AioConfig(
                signature_version="s3v4" if await self._session.get_credentials() else UNSIGNED,
                connect_timeout=SECONDS,
                read_timeout=SECONDS,
                retries={"mode": "standard", "total_max_attempts": 3},
                response_checksum_validation="when_required",
                s3={"addressing_style": "path" if self._options.endpoint else "auto"},
            )
            made = self._session.create_client(
                "s3",
                self._options.region,
                endpoint_url=self._options.endpoint or None,
                config=config,
            )
            self._client = await self._open.enter_async_context(made)
        return self._client


S3 = SourceKind("A bucket of S3.", S3Options, Bucket, of_server=True)
