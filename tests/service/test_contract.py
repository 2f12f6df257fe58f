"""What the contract declares is what there is: in this process, and over the wire."""

import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any, get_type_hints

import pytest
import pytest_asyncio

from ragstone import build
from ragstone.core.errors import InputError, StateUnavailable
from ragstone.http.app import create_app
from ragstone.local import Ragstone
from ragstone.remote import connect_service
from ragstone.service import Service
from ragstone.service.added import added_services
from ragstone.service.contract import LIFECYCLE, Operation, operations
from ragstone.settings import Settings
from tests.fake_service import FakeService
from tests.http_server import running
from tests.wire_values import Recorder, as_service, example, items, recorder, same

ALL = list(operations().values())
PARTS = {name.rpartition(".")[0] for name in operations()} - {""}

OF_THE_PROCESS = {
    *(f"{part}.{name}" for part in PARTS for name in LIFECYCLE),
    "watch",
    "warm",
    "start_jobs",
    "pools",
    "settings.refresh",
    "jobs.list_unfinished",
    "jobs.wake",
    "sources.watch",
    "sources.begin_due",
    "vector_stores.watch",
    "webhooks.watch",
}
"""What who opened a Ragstone in this process does with it, and nobody asks of it."""


def named(operation: Operation) -> str:
    return operation.name


def public(service: Any) -> set[str]:
    """The public methods of a service and its parts."""
    found = set()
    for name, _ in inspect.getmembers(type(service), inspect.isfunction):
        found.add(name)
    for part in PARTS:
        methods = inspect.getmembers(type(getattr(service, part)), inspect.isfunction)
        found |= {f"{part}.{name}" for name, _ in methods}
    return {name for name in found if not name.rpartition(".")[2].startswith("_")}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def local(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Ragstone]:
    settings = Settings(ragstone_data=tmp_path_factory.mktemp("contract"))
    async with build.open(settings) as service:
        yield service


@pytest.fixture(scope="module")
def recorded() -> Recorder:
    return recorder()


@pytest.fixture(scope="module")
def url(recorded: Recorder) -> Iterator[str]:
    with running(create_app(as_service(recorded), Settings(), "token")) as address:
        yield address


@pytest.fixture
async def remote(url: str, recorded: Recorder) -> AsyncIterator[Service]:
    recorded.calls.clear()
    recorded.fails = None
    remote = connect_service(url, "token")
    yield remote
    await remote.aclose()


def hints(method: Any) -> dict[str, Any]:
    return get_type_hints(method)


@pytest.mark.asyncio(loop_scope="module")
async def test_this_process_has_what_the_contract_says_and_no_more(local: Ragstone) -> None:
    assert public(local) - OF_THE_PROCESS - LIFECYCLE == set(operations())


def test_the_proxy_has_what_the_contract_says_and_no_more(remote: Service) -> None:
    own = {name for name in vars(remote) if not name.startswith("_")} - PARTS
    parts = {f"{part}.{name}" for part in PARTS for name in vars(getattr(remote, part))}
    assert own | parts == set(operations())


@pytest.mark.asyncio(loop_scope="module")
async def test_the_local_signatures_are_those_of_the_contract(local: Ragstone) -> None:
    for operation in ALL:
        same_signature(operation, operation.of(local))


def test_the_fake_of_the_tests_has_no_other_signatures() -> None:
    fake, known = FakeService(), 0
    for operation in ALL:
        try:
            method = operation.of(fake)  # type: ignore[arg-type]
        except (AttributeError, NotImplementedError):
            continue
        known += 1
        same_signature(operation, method)
    assert known


def same_signature(operation: Operation, method: Any) -> None:
    declared, real = operation.signature, inspect.signature(method)
    shape = [(p.name, p.kind, p.default) for p in declared.parameters.values()]
    found = [(p.name, p.kind, p.default) for p in real.parameters.values()]
    assert found == shape, operation.name
    protocol: Any = Service
    part, _, name = operation.name.rpartition(".")
    if part in added_services():
        protocol = added_services()[part].contract
    elif part:
        protocol = get_type_hints(getattr(Service, part).fget)["return"]
    assert hints(method) == hints(getattr(protocol, name)), operation.name


@pytest.mark.parametrize("operation", ALL, ids=named)
async def test_arguments_and_results_cross_as_they_are(
    remote: Service, recorded: Recorder, operation: Operation
) -> None:
    given = {name: example(kind) for name, kind in operation.types.items()}
    result: Any = operation.of(remote)(**given)
    if operation.streams:
        assert same([item async for item in result], items(operation))
    else:
        expected, found = example(operation.result), await result
        if operation.name == "overview":
            assert found.server.startswith("http://127.0.0.1:")
            found = type(found)(**{n: getattr(found, n) for n in found.__slots__} | {"server": ""})
            expected = type(found)(
                **{n: getattr(expected, n) for n in found.__slots__} | {"server": ""}
            )
        assert same(found, expected)
    assert recorded.calls[-1] == (operation.name, given)


@pytest.mark.parametrize("operation", ALL, ids=named)
async def test_errors_cross_as_they_are(
    remote: Service, recorded: Recorder, operation: Operation
) -> None:
    recorded.fails = StateUnavailable("It is away.")
    given = {name: example(kind) for name, kind in operation.types.items()}
    with pytest.raises(StateUnavailable, match="away"):
        if operation.streams:
            async for _ in operation.of(remote)(**given):
                pass
        else:
            await operation.of(remote)(**given)


def test_a_call_that_python_would_not_take_is_a_type_error_here_too() -> None:
    for operation in ALL:
        with pytest.raises(TypeError):
            operation.signature.bind(nonsense=1)


def test_arguments_that_do_not_fit_are_one_clear_error() -> None:
    for operation in ALL:
        refuses_what_does_not_fit(operation)


def refuses_what_does_not_fit(operation: Operation) -> None:
    given = operation.dump({name: example(kind) for name, kind in operation.types.items()})
    with pytest.raises(InputError, match="has no argument 'nonsense'"):
        operation.load({**given, "nonsense": 1})
    with pytest.raises(InputError, match="must be a JSON object"):
        operation.load([given])
    for name, parameter in operation.signature.parameters.items():
        if parameter.default is parameter.empty:
            less = {key: value for key, value in given.items() if key != name}
            with pytest.raises(InputError, match=f"needs the argument '{name}'"):
                operation.load(less)
        with pytest.raises(InputError, match=f"argument '{name}' of {operation.name}: Not a valid"):
            operation.load({**given, name: object()})


def test_numbers_that_no_store_can_hold_are_refused() -> None:
    for name, argument in (
        ("documents", "limit"),
        ("documents", "offset"),
        ("report", "days"),
        ("jobs.list", "limit"),
        ("prompts.get", "version"),
    ):
        with pytest.raises(InputError, match=f"argument '{argument}' of {name}"):
            operations()[name]._load_argument(argument, 10**12 if argument != "offset" else 2**60)


def test_a_fingerprint_changes_with_what_is_declared() -> None:
    prints = [operation.fingerprint for operation in ALL]
    assert len(set(prints)) == len(prints)


def test_every_operation_is_documented() -> None:
    assert [operation.name for operation in ALL if not operation.doc] == []
