package archive

// Move lets a Journal save to another store.
func Move(j *Journal, to *Archive) { j.archive = to }
