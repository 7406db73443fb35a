import base64
import http.client
import json
import os
import re
import threading

import numpy as np
import pytest

from hgcn.errors import DataError, RunError
from hgcn.viewer import Layer, Scene, render_page, write_page
from hgcn.viewer.page import island, pack
from hgcn.viewer.server import page_server
from sample_scenes import scale_free_scene, tree_scene


def data_of(page: str) -> list[dict]:
    return json.loads(
        re.search(r'<script type="application/json" id="scenes">(.*?)</script>', page)[1]
    )


def numbers(packed: dict) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed["data"]), packed["type"])


def test_arrays_come_back_as_they_were():
    scene = tree_scene(50)
    (packed,) = data_of(render_page(scene))
    last = scene.layers[-1]
    expected = last.points * np.sqrt(last.curvature)
    np.testing.assert_allclose(
        numbers(packed["layers"][-1]["points"]).reshape(-1, 2), expected, rtol=1e-15
    )
    assert numbers(packed["edges"]).reshape(2, -1).tolist() == scene.edges.tolist()
    assert packed["ids"] == scene.ids.tolist()


def test_radius_is_held_where_the_geometry_holds_it():
    scene = Scene(
        "far", [Layer("One", np.array([[1e6, 0.0]]), 1.0)], np.arange(1), np.zeros((2, 0))
    )
    points = numbers(pack(scene)["layers"][0]["points"])
    assert 40 <= np.hypot(*points) <= 42


def test_a_page_of_20_000_nodes_is_small():
    assert len(render_page(scale_free_scene(20_000, layers=4)).encode()) < 15e6


@pytest.mark.parametrize(
    "text", ["</script><script>", "<!--", "\u2028", "]]>", "{{script}}", "&lt;"]
)
def test_no_text_can_leave_the_data_block(text):
    packed = island([text])
    assert not re.search(r"[<>&\u2028\u2029]", packed)
    assert json.loads(packed) == [text]
    scene = Scene(text, [Layer(text, np.zeros((1, 2)))], np.array([text]), np.zeros((2, 0)))
    page = render_page(scene)
    assert data_of(page)[0]["ids"] == [text]
    assert page.count("<script") == render_page(tree_scene(5)).count("<script")


def test_the_page_names_no_address():
    page = render_page(tree_scene(5))
    # The namespace of SVG is a name, not an address that is fetched.
    assert set(re.findall(r"https?://[^\s\"']+", page)) == {"http://www.w3.org/2000/svg"}
    assert "innerHTML" not in page
    assert "default-src &#x27;none&#x27;" in page
    assert "unsafe-inline" not in page


def test_one_or_two_scenes():
    scene = tree_scene(5)
    assert len(data_of(render_page(scene, scene))) == 2
    with pytest.raises(DataError, match="got 0"):
        render_page()
    with pytest.raises(DataError, match="got 3"):
        render_page(scene, scene, scene)


def test_a_page_that_cannot_be_written(tmp_path, monkeypatch):
    with pytest.raises(RunError, match="Expected to write"):
        write_page(tmp_path / "no" / "folder.html", tree_scene(5))
    write_page(tmp_path / "disk.html", tree_scene(5))
    before = (tmp_path / "disk.html").read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match="No space left on device"):
        write_page(tmp_path / "disk.html", tree_scene(9))
    assert (tmp_path / "disk.html").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["disk.html"]


@pytest.fixture
def server(tmp_path):
    with page_server(write_page(tmp_path / "disk.html", tree_scene(5))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def get(server, path="/", host=None, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request(method, path, headers={"Host": host or f"127.0.0.1:{server.server_port}"})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_the_server_gives_the_page_to_this_computer(server):
    assert server.server_address[0] == "127.0.0.1"
    answer, body = get(server)
    assert answer.status == 200
    assert body.startswith(b"<!doctype html>")
    assert answer.getheader("X-Content-Type-Options") == "nosniff"
    assert get(server, host=f"localhost:{server.server_port}")[0].status == 200
    assert get(server, method="HEAD")[1] == b""


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1", "127.0.0.1.example.org:80"])
def test_the_server_answers_to_its_own_name_only(server, host):
    answer, body = get(server, host=host)
    assert answer.status == 421
    assert b"scenes" not in body


def test_the_server_has_nothing_else(server):
    assert get(server, "/../../etc/passwd")[0].status == 404
    assert get(server, "/disk.html")[0].status == 404
    assert get(server, method="POST")[0].status == 501


def test_no_page_to_serve(tmp_path):
    with pytest.raises(DataError, match="found no such file"):
        page_server(tmp_path / "nothing.html")
