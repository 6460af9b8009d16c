"""Files of each format become rows, whatever is wrong with them is told by row, and none takes the memory of all."""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from proctor.datasets.errors import FormatUnclear, RelabelInvalid, SourceInvalid
from proctor.datasets.fields import FieldInvalid, Fields, read_example
from proctor.datasets.formats.catalogue import Format, found_format, rows_of
from proctor.datasets.labels import read_labels


def rows(path: Path, kind: str) -> list[tuple[int, Any]]:
    return [
        (number, str(raw) if isinstance(raw, FieldInvalid) else dict(raw))
        for number, raw in rows_of(path, Format(kind))
    ]


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# --- JSONL and JSON -------------------------------------------------------------------------------------------------


def test_lines_are_numbered_as_an_editor_numbers_them(tmp_path: Path) -> None:
    path = write(tmp_path, "x.jsonl", b'\xef\xbb\xbf{"a":1}\r\n\n{"a":2}\n[1]\n{"a":NaN}\n{\n\xff\n{"a":3}')
    found = rows(path, "jsonl")
    assert [number for number, _ in found] == [1, 3, 4, 5, 6, 7, 8]
    assert [raw for _, raw in found if isinstance(raw, dict)] == [{"a": 1}, {"a": 2}, {"a": 3}]
    told = [raw for _, raw in found if isinstance(raw, str)]
    assert ["no JSON object" in told[0], "NaN" in told[1], "no JSON" in told[2], "UTF-8" in told[3]] == [True] * 4


def test_a_line_without_an_end_is_refused_before_it_fills_the_memory(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("proctor.datasets.formats.rows.ROW_BYTES", 100)
    path = write(tmp_path, "x.jsonl", '{"input": "' + "x" * 1000)
    with pytest.raises(SourceInvalid, match="Line 1 is longer"):
        rows(path, "jsonl")


def test_a_line_that_is_nested_too_deeply_is_a_malformed_row(tmp_path: Path) -> None:
    path = write(tmp_path, "x.jsonl", "[" * 200_000 + "\n" + '{"input": "y"}\n')
    (_, first), (number, second) = rows(path, "jsonl")
    assert ("nested too deeply" in first, number, second) == (True, 2, {"input": "y"})


@pytest.mark.parametrize("spaces", ["", " \n\t"])
def test_an_array_is_read_value_by_value(tmp_path: Path, spaces: str, monkeypatch: Any) -> None:
    monkeypatch.setattr("proctor.datasets.formats.json_rows._PIECE", 7)
    values = [{"input": "ä" * n, "n": n} for n in range(30)]
    text = f"{spaces}[{spaces}" + f"{spaces},{spaces}".join(map(json.dumps, values)) + f"{spaces}]{spaces}"
    path = write(tmp_path, "x.json", text)
    assert [raw for _, raw in rows(path, "inspect")] == values


@pytest.mark.parametrize("text", ["[", "[1", '[{"a":1}', '[{"a":1} {"a":2}]', '[{"a":NaN}]', "[\xff]"])
def test_an_array_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SourceInvalid):
        rows(write(tmp_path, "x.json", text.encode("latin-1")), "inspect")


# --- CSV --------------------------------------------------------------------------------------------------------------


def test_cells_are_texts_and_an_empty_one_says_nothing(tmp_path: Path) -> None:
    text = 'id,input,expected,tags,metadata\r\n1,"a, ""b""\nc",,"x, y","{""k"": 1}"\r\n2,d,e,"[""z""]",\n3,f\n'
    found = rows(write(tmp_path, "x.csv", text), "csv")
    assert found[0] == (1, {"id": "1", "input": 'a, "b"\nc', "tags": ["x", "y"], "metadata": {"k": 1}})
    assert found[1] == (2, {"id": "2", "input": "d", "expected": "e", "tags": ["z"]})
    assert found[2] == (3, ": it has 2 cells and the header 5")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "header"),
        (b"a,a\n1,2\n", "header"),
        (b'input\n"never ends', "no CSV"),
        (b'input\n"a"b\n', "no CSV"),
        (b"input\n\xff\n", "UTF-8"),
    ],
)
def test_a_csv_file_that_is_none_is_refused(tmp_path: Path, text: bytes, told: str) -> None:
    with pytest.raises(SourceInvalid, match=told):
        rows(write(tmp_path, "x.csv", text), "csv")


@pytest.mark.parametrize(("sign", "told"), [(";", "semicolons"), ("\t", "tabs"), ("|", r"bars \(\|\)")])
def test_a_csv_file_with_other_separators_is_told_what_to_save_it_with(tmp_path: Path, sign: str, told: str) -> None:
    path = write(tmp_path, "x.csv", f"id{sign}input\n1{sign}a\n2{sign}b, c\n")
    with pytest.raises(SourceInvalid, match=f"Its cells are separated by {told}; commas are read.") as refused:
        rows(path, "csv")
    assert refused.value.remedy.startswith("Save it with commas")
    several = write(tmp_path, "y.csv", f"id,in{sign}put\n1,a\n")
    assert rows(several, "csv") == [(1, {"id": "1", f"in{sign}put": "a"})], "of several names it is a part"


@pytest.mark.parametrize(("text", "line"), [("id,input\r1,a\r2,b\r", 1), ("id,input\n1,a\r2,b\n", 2)])
def test_a_csv_file_whose_lines_end_in_cr_is_told_so_and_no_advice_to_programmers(
    tmp_path: Path, text: str, line: int
) -> None:
    with pytest.raises(SourceInvalid, match=f"Line {line} ends in CR") as refused:
        rows(write(tmp_path, "x.csv", text), "csv")
    assert "universal" not in str(refused.value)
    assert "LF or CRLF" in refused.value.remedy


@pytest.mark.parametrize(
    ("kind", "encoding"),
    [("csv", "latin-1"), *((kind, code) for kind in ("csv", "jsonl") for code in ("utf-16", "utf-16-be", "utf-32"))],
)
def test_a_text_of_another_encoding_is_told_what_to_save_it_as(tmp_path: Path, kind: str, encoding: str) -> None:
    text = "input\nThé\n" if kind == "csv" else '{"input": "Thé"}\n'
    mark = codecs.BOM_UTF16_BE if encoding == "utf-16-be" else b""
    with pytest.raises(SourceInvalid, match="UTF-8") as refused:
        rows(write(tmp_path, f"x.{kind}", mark + text.encode(encoding)), kind)
    assert refused.value.remedy.startswith("Save it as UTF-8")


# --- Parquet and Hugging Face -----------------------------------------------------------------------------------------


def test_parquet_rows_are_values_of_json(tmp_path: Path) -> None:
    import datetime

    table = pa.table(
        {
            "input": pa.array(["a", "b"]),
            "when": pa.array([datetime.date(2026, 1, 2), None]),
            "nested": pa.array([{"x": [1]}, None]),
            "blob": pa.array([None, b"\x00"]),
        }
    )
    (tmp_path / "d").mkdir()
    pq.write_table(table, tmp_path / "d" / "1.parquet")
    pq.write_table(table.slice(0, 1), tmp_path / "d" / "2.parquet")
    found = rows(tmp_path / "d", "parquet")
    assert found[0] == (1, {"input": "a", "when": "2026-01-02", "nested": {"x": [1]}, "blob": None})
    assert found[1] == (2, "blob: it has bytes, which are neither text nor JSON")
    assert found[2][0] == 3


def test_a_parquet_file_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceInvalid, match="as a Parquet file; it may be another or not whole"):
        rows(write(tmp_path, "x.parquet", b"PAR1 nonsense PAR1"), "parquet")


@pytest.mark.parametrize("kind", ["parquet", "hf"])
@pytest.mark.parametrize("nested", [False, True])
def test_columns_of_one_name_are_refused_and_named(tmp_path: Path, kind: str, nested: bool) -> None:
    table = pa.Table.from_arrays([pa.array(["1"]), pa.array(["a"]), pa.array(["b"])], names=["id", "input", "input"])
    if nested:
        table = pa.table({"input": table.to_struct_array()})
    if kind == "hf":
        saved(tmp_path / "d", table)
    else:
        pq.write_table(table, tmp_path / "d")
    with pytest.raises(SourceInvalid, match="More than one of its columns is called 'input'") as refused:
        rows(tmp_path / "d", kind)
    assert refused.value.remedy.startswith("Rename or remove all but one")


def saved(folder: Path, table: pa.Table) -> None:
    """What ``save_to_disk`` writes, as far as it is read here; tests/foreign has the real one."""
    folder.mkdir(parents=True)
    with (
        pa.OSFile(str(folder / "data-00000-of-00001.arrow"), "wb") as file,
        pa.ipc.new_stream(file, table.schema) as out,
    ):
        out.write_table(table)
    state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}
    (folder / "state.json").write_text(json.dumps(state))


def test_a_folder_of_splits_keeps_which_is_which(tmp_path: Path) -> None:
    saved(tmp_path / "d" / "train", pa.table({"input": ["a", "b"]}))
    saved(tmp_path / "d" / "test", pa.table({"input": ["c"]}))
    (tmp_path / "d" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    assert rows(tmp_path / "d", "hf") == [
        (1, {"split": "train", "input": "a"}),
        (2, {"split": "train", "input": "b"}),
        (3, {"split": "test", "input": "c"}),
    ]


@pytest.mark.parametrize("name", ["../secret.arrow", "/etc/passwd", "", 7, None])
def test_a_saved_dataset_names_no_file_elsewhere(tmp_path: Path, name: object) -> None:
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": [{"filename": name}]}))
    with pytest.raises(SourceInvalid, match="not in the folder"):
        rows(tmp_path, "hf")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"_data_files": 1}', '{"_data_files": []}'])
def test_a_folder_that_save_to_disk_did_not_write_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "state.json").write_text(text)
    with pytest.raises(SourceInvalid):
        rows(tmp_path, "hf")


# --- exports of others ------------------------------------------------------------------------------------------------


def examples(path: Path, kind: str) -> list[dict[str, Any]]:
    """What is read of a file, by the names of an example's fields."""
    found = []
    for _, raw in rows_of(path, Format(kind)):
        assert not isinstance(raw, FieldInvalid), raw
        example = read_example(raw, Fields())
        found.append({name: getattr(example, name) for name in ("id", "input", "expected", "metadata")})
    return found


ITEM = {
    "id": "i1",
    "datasetId": "d",
    "datasetName": "n",
    "input": {"q": "Q"},
    "expectedOutput": "A",
    "metadata": {"k": 1},
    "status": "ACTIVE",
    "sourceTraceId": "t1",
    "createdAt": "2026-01-01T00:00:00Z",
    "updatedAt": "2026-01-02T00:00:00Z",
    "version": "2026-01-02T00:00:00Z",
}


def test_items_of_langfuse_say_the_same_in_each_form(tmp_path: Path) -> None:
    page = write(tmp_path, "page.json", json.dumps({"data": [ITEM], "meta": {"page": 1}}))
    lines = write(tmp_path, "x.jsonl", json.dumps(ITEM) + "\n")
    header = "id,input,expectedOutput,metadata,status,sourceTraceId,updatedAt"
    cells = header + '\ni1,"{""q"":""Q""}","""A""","{""k"":1}",ACTIVE,t1,x\n'
    wanted = {
        "id": "i1",
        "input": '{"q":"Q"}',
        "expected": "A",
        "metadata": '{"k":1,"sourceTraceId":"t1","status":"ACTIVE"}',
    }
    for path in (page, lines, write(tmp_path, "x.csv", cells)):
        assert examples(path, "langfuse") == [wanted], path.name


@pytest.mark.parametrize("text", ["42", "true", "null", "4e2", "A: [b]", '"A" is it', "{"])
@pytest.mark.parametrize("quoted", [False, True])
def test_a_text_in_the_csv_of_langfuse_stays_a_text(tmp_path: Path, text: str, quoted: bool) -> None:
    cell = (json.dumps(text) if quoted else text).replace('"', '""')
    content = f'id,input,expectedOutput,sourceTraceId\n1,q,"{cell}",12345678901234567890\n'
    ((_, raw),) = rows(write(tmp_path, "x.csv", content), "langfuse")
    assert (raw["expected"], raw["sourceTraceId"]) == (text, "12345678901234567890")


def test_examples_of_phoenix_say_the_same_in_each_form(tmp_path: Path) -> None:
    example = {"id": "e1", "input": {"q": "Q"}, "output": {"a": "A"}, "metadata": {"k": "1"}, "updated_at": "x"}
    answer = write(tmp_path, "x.json", json.dumps({"data": {"dataset_id": "d", "examples": [example]}}))
    old = write(tmp_path, "old.csv", "example_id,input_q,output_a,metadata_k\ne1,Q,A,1\n")
    new = write(tmp_path, "new.csv", "id,node_id,input.q,output.a,metadata.k,splits\ne1,g,Q,A,1,[]\n")
    for path in (answer, old, new):
        wanted = {"id": "e1", "input": '{"q":"Q"}', "expected": '{"a":"A"}', "metadata": '{"k":"1"}'}
        assert examples(path, "phoenix") == [wanted], path.name


def test_downloads_of_a_server_of_phoenix_are_read() -> None:
    """Made by Phoenix 20.26.1 from examples that its client sent; CSV has no types and no empty values."""
    folder = Path(__file__).parents[1] / "fixtures" / "phoenix"
    answer, lines, cells = (examples(folder / f"examples.{kind}", "phoenix") for kind in ("json", "jsonl", "csv"))
    assert answer == lines
    assert [one["id"] for one in cells] == [one["id"] for one in answer]
    assert [(one["input"], one["expected"], one["metadata"]) for one in answer] == [
        ('{"q":"1+1"}', '{"a":"2"}', '{"k":1,"t":"x"}'),
        ('{"messages":[{"content":"ü, \\"q\\"","role":"user"}],"n":3}', None, None),
        ('{"none":null,"q":"null?"}', '{"a":null,"b":true,"l":[1,"x"]}', None),
        ('{"plain.dot":"1","under_score":"2"}', '{"a":"x"}', None),
    ]
    assert [(one["input"], one["expected"], one["metadata"]) for one in cells] == [
        ('{"q":"1+1"}', '{"a":"2"}', '{"k":"1.0","t":"x"}'),
        ('{"messages":[{"content":"ü, \\"q\\"","role":"user"}],"n":"3.0"}', None, None),
        ('{"q":"null?"}', '{"b":"True","l":[1,"x"]}', None),
        ('{"plain.dot":"1","under_score":"2"}', '{"a":"x"}', None),
    ]


def test_tests_of_promptfoo_say_the_same_in_each_form(tmp_path: Path) -> None:
    test = {"vars": {"q": "Q"}, "assert": [{"type": "equals", "value": "A"}], "metadata": {"k": "1"}}
    results = {"results": {"results": [{"testIdx": n // 2, "testCase": test} for n in range(2)]}, "vars": ["q"]}
    files = [
        write(tmp_path, "list.json", json.dumps([test])),
        write(tmp_path, "x.jsonl", json.dumps(test)),
        write(tmp_path, "one.json", json.dumps(test, indent=2)),
        write(tmp_path, "config.json", json.dumps({"prompts": [], "tests": [test]})),
        write(tmp_path, "output.json", json.dumps(results)),
        write(tmp_path, "x.csv", "q,__expected,__metadata:k\nQ,equals:A,1\n"),
    ]
    for path in files:
        (found,) = examples(path, "promptfoo")
        assert {**found, "id": ""} == {"id": "", "input": '{"q":"Q"}', "expected": "A", "metadata": '{"k":"1"}'}


def test_assertions_that_are_no_equality_are_kept_whole(tmp_path: Path) -> None:
    test = {"vars": {"q": "Q"}, "assert": [{"type": "llm-rubric", "value": "polite"}]}
    (found,) = examples(write(tmp_path, "x.json", json.dumps([test])), "promptfoo")
    assert json.loads(found["expected"]) == test["assert"]
    (found,) = examples(write(tmp_path, "x.csv", "q,__expected1,__expected2\nQ,contains:a,icontains:b\n"), "promptfoo")
    assert json.loads(found["expected"]) == [{"type": "contains", "value": "a"}, {"type": "icontains", "value": "b"}]


@pytest.mark.parametrize(
    ("cell", "wanted"),
    [
        ("answer: 4", "answer: 4"),
        ("equals: red ", "red"),
        ("not-contains:a", [{"type": "not-contains", "value": "a"}]),
        ("is-json", [{"type": "is-json"}]),
        ("contain", "contain"),
        ("grade", "grade"),
        ("grade: is polite", [{"type": "llm-rubric", "value": "is polite"}]),
        ("trajectory:tool-used: search", [{"type": "trajectory:tool-used", "value": "search"}]),
        ("similar(0.9): a text", [{"type": "similar", "value": "a text", "threshold": 0.9}]),
        ('contains-any:a,"b,c"', [{"type": "contains-any", "value": ["a", "b,c"]}]),
        ("fn:output.length", [{"type": "javascript", "value": "output.length"}]),
    ],
)
def test_a_cell_of_promptfoo_is_an_assertion_in_short(tmp_path: Path, cell: str, wanted: object) -> None:
    quoted = cell.replace('"', '""')
    (found,) = examples(write(tmp_path, "x.csv", f'q,__expected\nQ,"{quoted}"\n'), "promptfoo")
    expected = found["expected"] if isinstance(wanted, str) else json.loads(found["expected"])
    assert expected == wanted


def test_columns_of_promptfoo_say_what_its_json_does(tmp_path: Path) -> None:
    test = {
        "vars": {"q": "Q"},
        "options": {"prefix": "p"},
        "threshold": 0.5,
        "description": "d",
        "metadata": {"k": "1"},
    }
    header = "q,__prefix,__threshold,__description,__metadata:k"
    files = [write(tmp_path, "x.json", json.dumps([test])), write(tmp_path, "x.csv", f"{header}\nQ,p,0.5,d,1\n")]
    one, other = (examples(path, "promptfoo") for path in files)
    assert one == other
    assert rows(write(tmp_path, "bad.csv", f"{header}\nQ,p,nan,d,1\n"), "promptfoo") == [
        (1, "__threshold: it must be a number")
    ]


@pytest.mark.parametrize("text", ["{}", '{"results": []}', '{"results": {"results": 1}}'])
def test_a_document_of_promptfoo_without_tests_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SourceInvalid, match=r"tests|results"):
        rows(write(tmp_path, "x.json", text), "promptfoo")


def test_results_without_a_test_case_are_malformed_rows(tmp_path: Path) -> None:
    text = json.dumps({"results": {"results": [1, {}, {"testCase": {"vars": {"q": "Q"}, "assert": "x"}}]}})
    found = rows(write(tmp_path, "x.json", text), "promptfoo")
    assert found == [(1, "testCase: it is missing"), (2, "testCase: it is missing"), (3, "assert: it must be a list")]


def test_samples_of_inspect_have_targets(tmp_path: Path) -> None:
    sample = {"id": 1, "input": [{"role": "user", "content": "Q"}], "target": "A", "choices": ["A", "B"]}
    wanted = [
        {"id": "1", "input": '[{"content":"Q","role":"user"}]', "expected": "A", "metadata": '{"choices":["A","B"]}'}
    ]
    for name, text in (("x.json", json.dumps([sample])), ("x.jsonl", json.dumps(sample) + "\n")):
        assert examples(write(tmp_path, name, text), "inspect") == wanted


def test_samples_of_inspect_are_read_as_inspect_reads_them(tmp_path: Path) -> None:
    wanted = {"id": "a", "input": "Q", "expected": "3", "metadata": '{"choices":["x","y"],"k":1}'}
    cells = 'id,input,target,choices,metadata\na,Q,3,"x, y,","{""k"": 1}"\n'
    sample = {"id": "a", "input": "Q", "target": 3, "choices": ["x", "y"], "metadata": '{"k": 1}'}
    for path in (write(tmp_path, "x.csv", cells), write(tmp_path, "x.json", json.dumps(sample, indent=2))):
        assert examples(path, "inspect") == [wanted], path.name
    bad = write(tmp_path, "bad.jsonl", json.dumps({**sample, "metadata": "{"}))
    assert rows(bad, "inspect") == [(1, "metadata: it must be JSON")]


def test_a_dataset_of_the_client_of_phoenix_is_read(tmp_path: Path) -> None:
    example = {"id": "e1", "node_id": "n", "input": {"q": "Q"}, "output": {}, "metadata": {}, "updated_at": "x"}
    whole = write(tmp_path, "dataset.json", json.dumps({"id": "d", "name": "d", "examples": [example]}))
    line = {"example_id": "e1", "input": {"q": "Q"}, "output": {}, "metadata": {}}
    for path in (whole, write(tmp_path, "frame.jsonl", json.dumps(line) + "\n")):
        (found,) = examples(path, "phoenix")
        assert (found["id"], found["input"]) == ("e1", '{"q":"Q"}'), path.name


# --- which format it is -----------------------------------------------------------------------------------------------


def test_a_format_is_found_where_that_is_safe(tmp_path: Path) -> None:
    for name, kind in (("a.jsonl", "jsonl"), ("a.ndjson", "jsonl"), ("a.CSV", "csv"), ("a.parquet", "parquet")):
        assert found_format(write(tmp_path, name, ""), None) == kind
    saved(tmp_path / "hf", pa.table({"input": ["a"]}))
    assert found_format(tmp_path / "hf", None) is Format.HF
    for path in (write(tmp_path, "a.json", "[]"), tmp_path / "empty"):
        path.exists() or path.mkdir()
        with pytest.raises(FormatUnclear):
            found_format(path, None)
    with pytest.raises(SourceInvalid, match="no such file"):
        found_format(tmp_path / "gone.jsonl", None)
    with pytest.raises(SourceInvalid, match="is a folder"):
        found_format(tmp_path / "hf", Format.CSV)
    with pytest.raises(SourceInvalid, match="is a file"):
        found_format(tmp_path / "a.jsonl", Format.HF)


def test_new_labels_are_read_from_a_file_or_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "x.jsonl", '{"id": "a", "expected": null}\n')
    assert read_labels(path) == [{"id": "a", "expected": None}]
    for name, text in (("y.jsonl", "nonsense\n"), ("z.jsonl", ""), ("z.parquet", "")):
        with pytest.raises(RelabelInvalid):
            read_labels(write(tmp_path, name, text))
