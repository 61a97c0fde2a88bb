package failure

// Outcome is how a command ended: every report begins with it.
type Outcome struct {
	Schema int    `json:"schema"`
	Status string `json:"status"`
	Exit   int    `json:"exit"`
	Error  string `json:"error,omitempty"`
	Code   string `json:"code,omitempty"` // of the error, as docs/errors.md lists them
}

// Result returns a report's outcome to fill in.
func (o *Outcome) Result() *Outcome { return o }

// NewOutcome returns an outcome that is a failure until it is set to something else.
func NewOutcome() Outcome { return Outcome{Schema: OutcomeSchema, Status: StatusFailed} }

// OutcomeSchema is the version of the reports' JSON form.
const OutcomeSchema = 1

// The values of Outcome.Status.
const (
	StatusDone    = "done"
	StatusNothing = "nothing to do" // the run was finished before
	StatusEmpty   = "empty input"
	StatusFailed  = "failed"
	// Written is for one of several outputs: its files wait for the load, because another output has failed.
	Written = "written"
	Undone  = "not done" // of one of several outputs, likewise
)
