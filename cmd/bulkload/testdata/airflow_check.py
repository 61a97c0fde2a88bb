"""Checks deploy/airflow: airflow_check.py codes|nights 2|3|real FOLDER.

2 and 3 stand in for the parts of that Airflow that the DAGs use; real uses the one that is installed.

codes: what the operator makes of each exit code. FOLDER has a bin/bulkload that ends with the code in the file "code" and writes
its arguments to "called".
nights: the DAGs' tasks run the program itself. FOLDER has bin/bulkload, and the jobs of the DAGs, which have exports of
2026-11-20 and 2026-11-21 and load nothing.
"""

import json
import logging
import os
import sys
import threading
import time
import types

what, layout, folder = sys.argv[1:4]
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "deploy", "airflow"))
made = []


def module(name, **content):
    m = types.ModuleType(name)
    m.__dict__.update(content)
    sys.modules[name] = m


class Dag:
    def __init__(self, **given):
        self.given, self.tasks = given, []
        made.append(self)

    def __enter__(self):
        made[-1].open = True
        return self

    def __exit__(self, *_):
        self.open = False


class Base:
    log = logging.getLogger("task")

    def __init__(self, **given):
        self.task_id, self.retries = given["task_id"], given.get("retries", 0)
        known = {"task_id", "retries", "retry_delay", "execution_timeout", "max_active_tis_per_dag"}
        assert set(given) <= known, given
        if made:
            made[-1].tasks.append(self)

    @classmethod
    def partial(cls, **given):
        return types.SimpleNamespace(expand=lambda **more: cls(**given, **more))


def stub():
    class Error(Exception):
        pass

    class Fail(Error):
        pass

    class Skip(Error):
        pass

    def task(f):
        task.functions[f.__name__] = f
        return lambda **_: f.__name__

    task.functions = {}
    module("airflow")
    module("airflow.exceptions", AirflowException=Error, AirflowFailException=Fail, AirflowSkipException=Skip)
    module("airflow.timetables")
    module("airflow.timetables.interval", CronDataIntervalTimetable=lambda cron, timezone: (cron, timezone))
    param = lambda value, **_: value
    if layout == "3":
        module("airflow.sdk", BaseOperator=Base, DAG=Dag, Param=param, task=task)
    else:
        sys.modules["airflow"].DAG = Dag
        module("airflow.models", BaseOperator=Base)
        module("airflow.models.param", Param=param)
        module("airflow.decorators", task=task)
    return task.functions


functions = stub() if layout != "real" else None

import bulkload_nights  # noqa: E402
from airflow.exceptions import AirflowException, AirflowFailException, AirflowSkipException  # noqa: E402
from bulkload_operator import BulkloadOperator  # noqa: E402


def check_dags():
    repository = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
    for job in bulkload_nights.TABLES.values():
        assert os.path.exists(os.path.join(repository, job)), job
    if functions is None:
        return
    nights, history = made
    assert nights.given["dag_id"] == "bulkload_nights" and nights.given["schedule"] == ("10 2 * * *", "Asia/Shanghai")
    assert [t.job for t in nights.tasks] == list(bulkload_nights.TABLES.values())
    assert all(t.flags == ["--work-dir=/var/lib/bulkload", "--metrics-push=http://pushgateway:9091"] for t in nights.tasks + history.tasks)
    assert all(t.retries == 18 and "in_timezone('Asia/Shanghai') | ds" in t.date for t in nights.tasks)
    assert [(t.task_id, t.date) for t in history.tasks] == [("check", "days"), ("opinion", "days")], history.tasks
    days = functions["days"]
    assert days(params={"from": "2026-10-30", "to": "2026-11-02"}) == ["2026-10-30", "2026-10-31", "2026-11-01", "2026-11-02"]
    for bad in ({"from": "2026-11-02", "to": "2026-11-01"}, {"from": "2020-01-01", "to": "2026-11-01"}):
        try:
            days(params=bad)
        except ValueError:
            continue
        raise AssertionError(bad)


def outcome(code, missing="fail", try_number=1):
    """What the operator makes of an exit code."""
    with open(os.path.join(folder, "code"), "w") as f:
        f.write(str(code))
    made.clear()
    op = BulkloadOperator(task_id="check", job="job.yaml", date="2026-11-20", missing=missing, cwd=folder, retries=3, flags=["--force"],
                          env={"HADOOP_CONF_DIR": "/conf"})
    try:
        result = op.execute({"ti": types.SimpleNamespace(try_number=try_number)})
    except AirflowSkipException:
        return "skip"
    except AirflowFailException as e:
        assert str(code) in str(e) and "what is wrong" in str(e), e
        return "fail"
    except AirflowException as e:
        return "again"
    assert len(json.dumps(result)) <= 2048 and result["rows_written"] == 3000, result
    return "done"


def check_codes():
    for code, want in {0: "done", 1: "fail", 2: "fail", 3: "fail", 4: "again", 5: "fail", 6: "fail", 66: "again", 75: "again"}.items():
        got = outcome(code)
        assert got == want, f"exit code {code}: {got}, want {want}"
    assert outcome(66, "skip", 3) == "again" and outcome(66, "skip", 4) == "skip" and outcome(75, "skip", 4) == "again"
    assert outcome("kill", "skip") == "again"
    with open(os.path.join(folder, "called")) as f:
        assert f.read() == "/conf run job.yaml --date 2026-11-20 --log text --json=summary --force\n"


def tasks(dag_id):
    """The operators of a DAG, by table, with their folder."""
    if functions is None:
        from airflow.models import DagBag
        bag = DagBag(os.path.dirname(bulkload_nights.__file__), include_examples=False)
        assert not bag.import_errors, bag.import_errors
        dag = bag.dags[dag_id]  # get_dag would ask Airflow's database
    else:
        dag = next(d for d in made if d.given["dag_id"] == dag_id)
    found = {t.task_id: t for t in dag.tasks if t.task_id in bulkload_nights.TABLES}
    assert len(found) == 2, found
    return found


def operator(table, date, **more):
    """A task of a night, as the DAGs make it."""
    flags = [f"--work-dir={folder}/work", f"--metrics-file={folder}/{table}.prom"]  # instead of the machine's own
    settings = {**bulkload_nights.SETTINGS, "cwd": folder, "retries": 1, "flags": flags, **more}
    return BulkloadOperator(task_id=table, job=bulkload_nights.TABLES[table], date=date, **settings)


def run(op, try_number=1):
    result = op.execute({"ti": types.SimpleNamespace(try_number=try_number)})
    assert len(json.dumps(result)) <= 2048, result
    return result


def ends_with(error, text, f, *args):
    try:
        f(*args)
    except error as e:
        assert type(e).__name__ == error.__name__ and text in str(e), repr(e)
        return
    raise AssertionError(f"{error} is not raised: {text}")


def check_nights():
    rows = {"check": 3000, "opinion": 600}
    nights, history = tasks("bulkload_nights"), tasks("bulkload_history")
    assert functions is None or all(task.missing == "skip" and task.retries == 1 for task in history.values())
    made.clear()
    for table, task in nights.items():
        assert (task.job, task.cwd, task.missing) == (bulkload_nights.TABLES[table], "/opt/bulkload", "fail")
        result = run(operator(table, "2026-11-20"))
        with open(f"{folder}/{table}.prom") as f:
            assert f'job_file="{table}-hbase.yaml"' in f.read(), os.listdir(folder)
        assert (result["status"], result["exit"], result["rows_written"], result["date"]) == ("done", 0, rows[table], "2026-11-20"), result
    # A backfill of four days, of which two have an export: done nights are not done again, and missing ones are skipped.
    days = [f"2026-11-{n}" for n in range(19, 23)] if functions is None else functions["days"](params={"from": "2026-11-19", "to": "2026-11-22"})
    states = []
    for day in days:
        for table in history:
            op = operator(table, day, missing="skip")
            try:
                states.append(run(op, 2)["status"])
            except AirflowSkipException as e:
                assert "does not exist" in str(e), e
                states.append("skipped")
    assert states == ["skipped"] * 2 + ["nothing to do"] * 2 + ["done"] * 2 + ["skipped"] * 2, states
    # An export that is not there yet is tried again, and a mistake is not.
    ends_with(AirflowException, "not there yet", run, operator("check", "2026-11-23", missing="skip"), 1)
    ends_with(AirflowFailException, "exit code 2: ", run, operator("check", "2026-11-20", flags=["--wrong"]))
    # A task that is killed stops the program, which says that the same command goes on.
    log = os.path.join(folder, "waits.log")
    op = operator("opinion", "2026-11-24", flags=["--wait", "1h", "--log-file", log])

    def kill():
        for _ in range(6000):
            if os.path.exists(log) and "waiting for the input" in open(log).read():
                break
            time.sleep(0.01)
        op.on_kill()

    killer = threading.Thread(target=kill)
    killer.start()
    ends_with(AirflowException, "it was interrupted: stopped", run, op)
    killer.join()


if what == "codes":
    check_dags()
    check_codes()
else:
    check_nights()
print("checked", layout)
