"""An operator that runs bulkload, for Airflow 2.10 and 3.

The task is safe to repeat: a finished night is not done again, and an interrupted one goes on where it stopped. By bulkload's
exit code it succeeds, tries again (4: interrupted, 75: the cluster is down), waits for the export (66: tries again, and on the
last try fails or, with missing="skip", is skipped), or fails for good. Its result, and so its XCom, is bulkload's short summary:
a dict of at most 2 KB.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess

from airflow.exceptions import AirflowException, AirflowFailException, AirflowSkipException

try:
    from airflow.sdk import BaseOperator
except ImportError:  # Airflow 2
    from airflow.models import BaseOperator

NOT_YET = 66
AGAIN = {4: "it was interrupted", 75: "the cluster is down, or another run is at work"}


class BulkloadOperator(BaseOperator):
    """Runs one job file for a logical date.

    :param job: the job file, from cwd.
    :param date: the logical date, 2026-11-20; the first day of the run's interval, in UTC, where none is given.
    :param missing: what becomes of the task where the export is not there on the last try: "fail" or "skip".
    :param flags: further flags of bulkload run.
    :param env: added to the worker's environment.
    """

    template_fields = ("job", "date", "flags")
    ui_color = "#cfe8d5"

    def __init__(self, *, job, date="{{ data_interval_start | ds }}", missing="fail", flags=(),
                 bulkload="bin/bulkload", cwd="/opt/bulkload", env=None, **kwargs):
        super().__init__(**kwargs)
        if missing not in ("fail", "skip"):
            raise ValueError(f'missing is {missing!r}; it is "fail" or "skip"')
        self.job, self.date, self.missing, self.flags = job, date, missing, list(flags)
        self.bulkload, self.cwd, self.env = bulkload, cwd, env
        self.process = None

    def execute(self, context):
        command = [self.bulkload, "run", self.job, "--date", self.date, "--log", "text", "--json=summary", *self.flags]
        self.log.info("%s", " ".join(command))
        self.process = subprocess.Popen(command, cwd=self.cwd, env={**os.environ, **(self.env or {})}, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        summary = {}
        for line in self.process.stdout:
            line = line.rstrip("\n")
            if line.startswith("{"):  # only the result does: log records are key=value
                summary = json.loads(line)
            else:
                self.log.info("%s", line)
        return self.judge(self.process.wait(), summary, context)

    def judge(self, code, summary, context):
        """Turns the exit code into what Airflow does next."""
        reason = summary.get("error", "it printed no summary")
        if code == 0:
            return summary
        if code == NOT_YET:
            if self.missing == "skip" and self.is_last(context):
                raise AirflowSkipException(reason)
            raise AirflowException(f"the export is not there yet: {reason}")
        if code in AGAIN:
            raise AirflowException(f"{AGAIN[code]}: {reason}")
        if code < 0:
            raise AirflowException(f"it was ended by signal {-code}")  # the same command continues
        raise AirflowFailException(f"exit code {code}: {reason}")

    def is_last(self, context):
        return context["ti"].try_number > self.retries

    def on_kill(self):
        """Stops bulkload so that the next try goes on from there."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.process.kill()
