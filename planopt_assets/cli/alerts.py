"""Commands about alerts: try out the destinations of `alerts:`."""

from __future__ import annotations

from datetime import UTC, datetime

import typer

from planopt_assets.cli.command import DEFAULT, JsonOption, WorkloadOption, answer, load, print_json, say

app = typer.Typer(name="alerts", help="Where messages about regressions go.", no_args_is_help=True)


@app.command(name="test")
def try_out(workload: WorkloadOption = DEFAULT, as_json: JsonOption = False) -> None:
    """Send a test message to every destination of the workload file. Exit code 1 if one does not take it."""
    from planopt_assets.alert.sending import send
    from planopt_assets.model.alerts import Incident, Message

    loaded = load(workload)
    text = "This is a test. If you can read it, messages about regressions will arrive here too."
    incident = Incident("test", "gate", "", f"Test of alerts of workload {loaded.name}", text)
    now = datetime.now(UTC)
    message = Message(loaded.name, incident, "opened", int(now.timestamp()), now)
    tried = [(one, send(one, message)) for one in loaded.alerts]
    if as_json:
        facts = [
            {"destination": d.name, "kind": d.kind, "sent": r.sent, "tries": r.tries, "error": r.error}
            for d, r in tried
        ]
        print_json({"workload": loaded.name, "destinations": facts})
    elif not tried:
        say(f"{loaded.file} has no `alerts:`. Add a destination, for example `alerts: [{{kind: log}}]`.")
    else:
        for destination, result in tried:
            answer(f"{destination.name} ({destination.kind}): {'sent' if result.sent else result.error}")
    if not tried or not all(result.sent for _, result in tried):
        raise typer.Exit(1)
