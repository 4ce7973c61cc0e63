"""The loop as a pure machine: `step(state, input)` gives the next state with exactly one pending action.

What may come next follows from the pending action alone, so "where are we?" has one answer, a stored
state can be taken up by another process, and the list of inputs is the whole run.

    begin ─▶ CallModel ─ModelReplied─▶ RunStage ─ToolFinished…─▶ CallModel … ─▶ Finish
                 │  ▲                     │  ▲
            ModelFailed │              Decided(Later)
                 ▼  Waited                ▼  Decided
                Wait ─┘                Suspend

A call that failed for good of one model is made of the next one in the chain: CallModel ─ModelFailed─▶ SwitchModel
─Switched─▶ CallModel.

While a stage is pending it also takes what a person decided and what a check of arguments found (`Checked`).
"""
