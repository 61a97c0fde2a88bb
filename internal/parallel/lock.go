package parallel

// Lock is a lock that may be held over calls to a server. To a simulated clock (testing/synctest), a goroutine that
// waits for it is idle, and one that waits for a sync.Mutex is not. The zero value is not usable: see NewLock.
type Lock chan struct{}

// NewLock makes a Lock that is free.
func NewLock() Lock { return make(Lock, 1) }

// Lock waits until the lock is free, and takes it.
func (l Lock) Lock() { l <- struct{}{} }

// Unlock frees the lock.
func (l Lock) Unlock() { <-l }
