"""Loads the check and opinion tables into HBase: last night's exports every night, and a history day by day.

Put this file and bulkload_operator.py into the DAGs folder. The program is expected in /opt/bulkload, with its jobs.

bulkload_nights
    Both tables at 02:10, each by a task of its own. A task tries for about three hours: while the export is not there yet, or
    the cluster is down. A backfill runs one night after the other: airflow dags backfill (2), airflow backfill create (3).
bulkload_history
    Started by hand with the first and the last day: a mapped task for each day. Where the whole history is to be loaded at
    once, one run over a glob of folders makes fewer and larger HFiles (docs/jobfile.md).
"""

from datetime import date, datetime, timedelta

from airflow.timetables.interval import CronDataIntervalTimetable

try:
    from airflow.sdk import DAG, Param, task
except ImportError:  # Airflow 2
    from airflow import DAG
    from airflow.decorators import task
    from airflow.models.param import Param

from bulkload_operator import BulkloadOperator

ZONE = "Asia/Shanghai"
NIGHT = "{{ data_interval_start.in_timezone('" + ZONE + "') | ds }}"  # the day before, where the exports are made
TABLES = {"check": "jobs/examples/check-hbase.yaml", "opinion": "jobs/examples/opinion-hbase.yaml"}
SETTINGS = {
    "cwd": "/opt/bulkload",
    # The work folder holds the runs that a killed try has sorted. All workers that may get the next try need the same folder, on
    # a shared disk; otherwise give the task a queue with one worker. The metrics are pushed, because the next try may run
    # elsewhere.
    "flags": ["--work-dir=/var/lib/bulkload", "--metrics-push=http://pushgateway:9091"],
    "env": {"HADOOP_CONF_DIR": "/etc/hadoop/conf", "HBASE_CONF_DIR": "/etc/hbase/conf"},
    "retries": 18,
    "retry_delay": timedelta(minutes=10),
    "execution_timeout": timedelta(hours=8),
}

# The data interval of a run is the day before it, also in Airflow 3, whose plain cron schedules have no interval.
with DAG(
    dag_id="bulkload_nights",
    description="Last night's exports of the check and opinion tables, as HFiles, into HBase",
    schedule=CronDataIntervalTimetable("10 2 * * *", timezone=ZONE),
    start_date=datetime(2026, 11, 1),
    catchup=False,
    max_active_runs=1,
    tags=["hbase"],
):
    for table, job in TABLES.items():
        BulkloadOperator(task_id=table, job=job, date=NIGHT, **SETTINGS)

with DAG(
    dag_id="bulkload_history",
    description="A range of days of the check and opinion tables, one after the other",
    schedule=None,
    start_date=datetime(2026, 11, 1),
    catchup=False,
    max_active_runs=1,
    params={"from": Param("2026-11-01", type="string", format="date"), "to": Param("2026-11-07", type="string", format="date")},
    tags=["hbase"],
):

    @task
    def days(params=None):
        """The days from the first to the last, at most 1,000: Airflow's default limit of mapped tasks is 1,024."""
        first, last = date.fromisoformat(params["from"]), date.fromisoformat(params["to"])
        count = (last - first).days + 1
        if not 1 <= count <= 1000:
            raise ValueError(f"from {first} to {last} are {count} days; give 1 to 1,000")
        return [(first + timedelta(days=n)).isoformat() for n in range(count)]

    all_days = days()
    for table, job in TABLES.items():
        BulkloadOperator.partial(task_id=table, job=job, missing="skip", max_active_tis_per_dag=1,
                                 **{**SETTINGS, "retries": 1}).expand(date=all_days)
