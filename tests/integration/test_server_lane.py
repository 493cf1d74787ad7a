"""The short way of connections (`server/lane.py`): the bytes of uvicorn's own way, however requests come."""

import json
import re
import socket
import threading
import time

import pytest
import uvicorn
from places import ROOT
from servers import ServerProcess, call

from shopsim_env import load_release
from shopsim_env.pool import LeasePool
from shopsim_env.server.app import App
from shopsim_env.server.front import Front
from shopsim_env.server.guard import make_guard
from shopsim_env.server.lane import lane
from shopsim_env.server.service import Service
from shopsim_env.server.sockets import listen
from shopsim_env.shop.served import ServedEnv

SAMPLE = ROOT / "shopsim_env" / "sample_release"
SLOTS = 3


@pytest.fixture(scope="module")
def server():
    with ServerProcess(SAMPLE, "--slots", str(SLOTS)) as running:
        yield running


@pytest.fixture
def lease(server):
    status, opened, _ = call(server.port, "POST", "/v1/episodes", {"task_id": first_task(server)})
    assert status == 200
    yield opened
    call(server.port, "DELETE", f"/v1/episodes/{opened['lease_id']}")


def first_task(server):
    return call(server.port, "GET", "/v1/tasks?limit=1")[1]["tasks"][0]["task_id"]


def request(method, path, body=None, *more, version="HTTP/1.1"):
    data = b"" if body is None else json.dumps(body, ensure_ascii=False).encode()
    lines = [f"{method} {path} {version}", "Host: 127.0.0.1", f"Content-Length: {len(data)}", *more]
    if body is not None:
        lines.append("Content-Type: application/json")
    return "\r\n".join(lines).encode() + b"\r\n\r\n", data


class Wire:
    """A connection that gives whole answers: head and body as they came."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.rest = b""

    def send(self, *pieces):
        for number, piece in enumerate(pieces):
            if number:
                time.sleep(0.03)  # a segment of its own
            self.socket.sendall(piece)

    def answer(self):
        while b"\r\n\r\n" not in self.rest:
            self._more()
        head, _, _ = self.rest.partition(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        while len(self.rest) < len(head) + 4 + length:
            self._more()
        whole, self.rest = self.rest[: len(head) + 4 + length], self.rest[len(head) + 4 + length :]
        return whole

    def ended(self):
        return not self.rest and self.socket.recv(1) == b""

    def _more(self):
        piece = self.socket.recv(65_536)
        assert piece, self.rest
        self.rest += piece

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


def steps(lease):
    path = f"/v1/episodes/{lease['lease_id']}/step"
    fence = lease["fence"]
    return [
        request("POST", path, {"action": "search[收纳盒]", "fence": fence, "request_id": "1"}),
        request("POST", path, {"action": "nonsense", "fence": fence, "request_id": "2"}),
        request("POST", path, {"action": "x", "fence": fence + 100}),
        request("POST", path, {"action": "x", "fence": fence, "more": 1}),
        request("POST", path, {"action": "x"}),
        request("POST", path, None, "Content-Type: application/json"),
        request("POST", path, {"action": "x", "fence": fence}, "Content-Encoding: gzip"),
        request("POST", path, {"action": "x", "fence": fence}, "Origin: http://elsewhere.example"),
        request("POST", f"/v1/episodes/{'x' * 32}/step", {"action": "x", "fence": fence}),
        request("DELETE", f"/v1/episodes/{lease['lease_id']}?fence={fence + 100}"),
        request("DELETE", f"/v1/episodes/{lease['lease_id']}?fence=a&fence=b"),
        request("DELETE", f"/v1/episodes/{'x' * 32}"),
        request("POST", "/v1/episodes", {"task_id": -1}),
        request("POST", "/v1/episodes", {"task_id": 2**62}),
    ]


def test_pieces_and_pipelines_get_the_bytes_of_whole_requests(server, lease):
    """In pieces a request goes uvicorn's way; repeated ids make the answers comparable."""
    asked = steps(lease)
    with Wire(server.port) as wire:
        whole = []
        for head, body in asked:
            wire.send(head + body)
            whole.append(wire.answer())
        assert whole[0].startswith(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
        assert [int(answer[9:12]) for answer in whole] == [
            *(200, 200, 409, 422, 422, 400, 415, 403, 409, 409, 422, 200, 422, 422),
        ]
        for (head, body), expected in zip(asked, whole, strict=True):
            wire.send(head[:20], head[20:] + body[:5], body[5:])
            assert wire.answer() == expected
        wire.send(b"".join(head + body for head, body in asked))
        assert [wire.answer() for _ in asked] == whole


def test_ordinary_requests_between_keep_the_order(server, lease):
    step = b"".join(steps(lease)[0])
    look = request("GET", f"/v1/episodes/{lease['lease_id']}")[0]
    with Wire(server.port) as wire:
        wire.send(step + look + step + look)
        first, seen, second, again = (wire.answer() for _ in range(4))
    assert first == second
    assert seen == again
    assert b'"actions_played":1' in seen


def test_what_closes_or_asks_first_goes_the_ordinary_way(server, lease):
    head, body = steps(lease)[0]
    with Wire(server.port) as wire:
        wire.send(head + body)
        plain = wire.answer()
        first, rest = head.split(b"\r\n", 1)
        wire.send(first + b"\r\nExpect: 100-continue\r\n" + rest)
        assert wire.answer() == b"HTTP/1.1 100 Continue\r\n\r\n"
        wire.send(body)
        assert wire.answer() == plain
        wire.send(first + b"\r\nConnection: close\r\n" + rest + body)
        assert wire.answer() == plain.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1)
        assert wire.ended()
    with Wire(server.port) as wire:
        wire.send(head.replace(b"HTTP/1.1", b"HTTP/1.0") + body)
        assert wire.answer().endswith(plain.partition(b"\r\n\r\n")[2])
        assert wire.ended()


def test_what_comes_behind_a_body_is_no_header(server):
    """RFC 9110, 6.5.1: a trailer must not be taken for a header; here it would say who asks."""
    head, body = request("POST", "/v1/episodes", {})
    head = re.sub(rb"(?i)host: [^\r]*", b"Host: evil", head)
    head = re.sub(rb"(?i)content-length: [^\r]*", b"Transfer-Encoding: chunked", head)
    chunks = b"%x\r\n%s\r\n0\r\nHost: 127.0.0.1\r\n\r\n" % (len(body), body)
    for pieces in ([head + chunks], [head, chunks], [head[:20], head[20:] + chunks]):
        with Wire(server.port) as wire:
            wire.send(*pieces)
            assert wire.answer().startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"Host: evil", b"duplicate_header"),
        (b"Content-Type: application/json", b"duplicate_header"),
        (b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk", b"upgrade"),
    ],
)
def test_headers_that_could_be_read_in_two_ways_are_refused(server, line, code):
    """Behind a proxy the first and the last of two could be different clients' business."""
    head, body = request("POST", "/v1/episodes", {})
    first, rest = head.split(b"\r\n", 1)
    for cut in (len(head) + len(body) + 200, 30):
        whole = first + b"\r\n" + line + b"\r\n" + rest + body
        with Wire(server.port) as wire:
            wire.send(whole[:cut], whole[cut:])
            answer = wire.answer()
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b'"code":"%s"' % code in answer.replace(b'": "', b'":"')


def test_a_request_that_is_no_http_ends_the_connection(server, lease):
    path = f"/v1/episodes/{lease['lease_id']}/step"
    begun = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    with Wire(server.port) as wire:
        wire.send(begun + b"zz\r\n")
        assert wire.answer().startswith(b"HTTP/1.1 400 ")
        assert wire.ended()


def test_a_reset_waits_when_there_is_no_room(server):
    task = {"task_id": first_task(server), "wait_s": 20}
    taken = [call(server.port, "POST", "/v1/episodes", task)[1] for _ in range(SLOTS)]
    head, body = request("POST", "/v1/episodes", task)
    with Wire(server.port) as wire:
        wire.send(head + body)
        wire.socket.settimeout(0.2)
        with pytest.raises(TimeoutError):
            wire.answer()
        wire.socket.settimeout(20)
        call(server.port, "DELETE", f"/v1/episodes/{taken[1]['lease_id']}")
        opened = json.loads(wire.answer().partition(b"\r\n\r\n")[2])
    assert opened["slot"] == taken[1]["slot"]
    for lease in (taken[0], taken[2], opened):
        assert call(server.port, "DELETE", f"/v1/episodes/{lease['lease_id']}")[1] == {"released": True}


def test_an_idle_connection_is_closed_and_a_used_one_is_not():
    """In this process, with a keep-alive of 1.5 seconds instead of 75."""
    with load_release() as release:
        pool = LeasePool(release, 1, env_class=ServedEnv)
        app = App(Service(release, pool), make_guard("127.0.0.1", None, None))
        bound = listen("127.0.0.1", 0)
        own = {"http": lane(Front(app)), "timeout_keep_alive": 1.5}
        server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None, **own))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        unused = b"".join(request("DELETE", f"/v1/episodes/{'x' * 32}"))
        try:
            with Wire(bound.getsockname()[1]) as wire, Wire(bound.getsockname()[1]) as other:
                other.send(unused)
                assert other.answer().endswith(b'{"released":false}')
                for _ in range(8):
                    wire.send(unused)
                    assert wire.answer().endswith(b'{"released":false}')
                    time.sleep(0.25)
                assert other.ended()
                wire.send(unused[:30])  # begun, so it is waited for
                time.sleep(2)
                wire.send(unused[30:])
                assert wire.answer().endswith(b'{"released":false}')
                assert wire.ended()
        finally:
            server.should_exit = True
            thread.join(30)
