/* Calls of Linux that Swift's module of the C library leaves out. */
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>

int ppoll(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);

/* Otherwise a wait ends up to 50 us late. */
static inline int set_timer_slack(unsigned long nanoseconds) {
    return prctl(PR_SET_TIMERSLACK, nanoseconds);
}
