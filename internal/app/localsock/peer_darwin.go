package localsock

import "golang.org/x/sys/unix"

// peer returns the user of the process at the other end.
func peer(fd int) (uint32, error) {
	who, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return who.Uid, nil
}
