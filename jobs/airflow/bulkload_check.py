"""Loads one night of the check table into HBase.

The task is safe to repeat: a finished night is not done again, and an interrupted one goes on where it stopped. bulkload's
last line on stdout is its summary, which Airflow keeps as the task's XCom.
"""

from datetime import datetime, timedelta

from airflow import DAG
from airflow.operators.bash import BashOperator

with DAG(
    dag_id="bulkload_check",
    description="Last night's export of the check table, as HFiles, into HBase",
    schedule="10 2 * * *",
    start_date=datetime(2026, 11, 20),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=10)},
) as dag:
    BashOperator(
        task_id="run",
        bash_command="bin/bulkload run jobs/examples/check-hbase.yaml --date {{ ds }} --json",
        cwd="/opt/bulkload",
        env={"HADOOP_CONF_DIR": "/etc/hadoop/conf", "HBASE_CONF_DIR": "/etc/hbase/conf"},
        append_env=True,
    )
