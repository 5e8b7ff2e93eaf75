// What Swift needs of libevent and of Linux that it can't import by itself.
#pragma once

// Before any libevent header: event-config.h defines _GNU_SOURCE, and a glibc header read after that
// point would describe fd_set differently from the copy that Swift's Glibc module knows.
#include <sys/select.h>

#include <errno.h>
#include <fcntl.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/thread.h>
#include <linux/filter.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// Declared here, since their headers know of _GNU_SOURCE too late.
ssize_t splice(int, __off64_t *, int, __off64_t *, size_t, unsigned);
int pipe2(int[2], int);
int accept4(int, struct sockaddr *, socklen_t *, int);
int dup3(int, int, int);

/// accept4(2), non-blocking and close-on-exec from the first moment.
static inline int squall_accept(int listener) {
    return accept4(listener, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/// Puts the socket `from` in the place of `to`, which is closed, and stays close-on-exec (dup3(2)); -1 with errno.
static inline int squall_replace(int from, int to) {
    int result;
    do result = dup3(from, to, O_CLOEXEC);
    while (result < 0 && (errno == EINTR || errno == EBUSY));
    return result;
}

/// Bytes in the send queue that the receiver's kernel hasn't acknowledged, or -1 with errno (SIOCOUTQ, tcp(7)).
static inline int squall_unacknowledged(int descriptor) {
    int count = 0;
    return ioctl(descriptor, SIOCOUTQ, &count) < 0 ? -1 : count;
}

/// Bytes that can be received without waiting, or -1 with errno (FIONREAD, tcp(7)).
static inline int squall_receivable(int descriptor) {
    int count = 0;
    return ioctl(descriptor, FIONREAD, &count) < 0 ? -1 : count;
}

/// Has the kernel throw away every packet for a socket, by a filter that takes none (SO_ATTACH_FILTER, socket(7)).
/// On a listening socket those are the packets of connections that are still to be made, and no others.
static inline int squall_drop_packets(int descriptor) {
    struct sock_filter none = BPF_STMT(BPF_RET | BPF_K, 0);
    struct sock_fprog program = {.len = 1, .filter = &none};
    return setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

/// Ends what squall_drop_packets has begun.
static inline int squall_take_packets(int descriptor) {
    int unused = 0;
    return setsockopt(descriptor, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused);
}

/// A pipe with room for `size` bytes, non-blocking (pipe(7)), or -1 with errno where the system gives none of that size.
static inline int squall_pipe(int *output, int *input, int size) {
    enum { setPipeSize = 1031 };  // F_SETPIPE_SZ, fcntl(2)
    int ends[2];
    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) < 0) return -1;
    if (fcntl(ends[1], setPipeSize, size) < size) {
        close(ends[0]);
        close(ends[1]);
        return -1;
    }
    *output = ends[0];
    *input = ends[1];
    return 0;
}

// recv(2) and send(2) of the C library are points at which a thread can be cancelled, and in a process of several
// threads each call pays for that with two atomic operations. Threads of ours are never cancelled.

/// recv(2) without flags.
static inline ssize_t squall_receive(int descriptor, void *bytes, size_t length) {
    return syscall(SYS_recvfrom, descriptor, bytes, length, 0, 0, 0);
}

/// Has a socket tell when the system received what it is asked for (SO_TIMESTAMPNS, socket(7)).
static inline void squall_stamp_arrivals(int descriptor) {
    int one = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one);
}

/// How many packets of a TCP connection came out of order so far; -1 where the system doesn't say (TCP_INFO, tcp(7)).
static inline int64_t squall_out_of_order(int descriptor) {
    enum { offset = 224 };  // Of tcpi_rcv_ooopack in the system's struct tcp_info, where it stays.
    char information[offset + sizeof(uint32_t)];
    socklen_t length = sizeof information;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, information, &length) < 0 || length < sizeof information) return -1;
    uint32_t count;
    memcpy(&count, information + offset, sizeof count);
    return count;
}

/// recv(2) without flags. `age` becomes the nanoseconds since the system received the last of the bytes, 0 when it doesn't
/// say. That may be long before the others, if a packet was lost, and so long before anybody could have received it.
static inline ssize_t squall_receive_stamped(int descriptor, void *bytes, size_t length, int64_t *age) {
    struct iovec room = {.iov_base = bytes, .iov_len = length};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(struct timespec))];
    } control;
    struct msghdr message = {
        .msg_iov = &room, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t count = syscall(SYS_recvmsg, descriptor, &message, 0);
    *age = 0;
    struct cmsghdr *header = count > 0 ? CMSG_FIRSTHDR(&message) : 0;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SO_TIMESTAMPNS) {
        struct timespec came, now;
        memcpy(&came, CMSG_DATA(header), sizeof came);
        clock_gettime(CLOCK_REALTIME, &now);
        *age = (int64_t)(now.tv_sec - came.tv_sec) * 1000000000 + (now.tv_nsec - came.tv_nsec);
    }
    return count;
}

/// send(2), perhaps with MSG_MORE; a peer that has gone is an error only.
static inline ssize_t squall_send(int descriptor, const void *bytes, size_t length, bool more) {
    return syscall(SYS_sendto, descriptor, bytes, length, MSG_NOSIGNAL | (more ? MSG_MORE : 0), 0, 0);
}

/// Moves up to `limit` bytes from a socket into a pipe, or from a pipe to a socket, or -1 with errno (splice(2)).
static inline ssize_t squall_splice(int from, int to, size_t limit) {
    enum { move = 1, nonBlocking = 2 };  // SPLICE_F_MOVE, SPLICE_F_NONBLOCK
    return splice(from, 0, to, 0, limit, move | nonBlocking);
}

/// An event descriptor that wakes a loop from another thread (eventfd(2)).
static inline int squall_eventfd(void) {
    return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

/// A timer of the system that becomes readable when it rings, on the monotonic clock (timerfd_create(2)).
static inline int squall_timerfd(void) {
    return timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
}

/// Has it ring once at a moment of the clock, in nanoseconds above 0, in place of any moment before.
static inline void squall_timerfd_set(int descriptor, int64_t moment) {
    struct itimerspec when = {.it_value = {.tv_sec = moment / 1000000000, .tv_nsec = moment % 1000000000}};
    timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &when, 0);
}

/// Prepares the calling thread to be a loop: names it in what ps and perf show (15 bytes of the name are
/// used), has its timers fire on time instead of up to 50 µs later (prctl(2)), and keeps SIGPIPE from it, which
/// splice(2) raises when a peer has gone and has no flag against.
/// Moves the thread to one of the processors that it may use, the next for each index, and leaves it free to move on.
///
/// Loops that start on one processor stay together for long: the scheduler moves a thread when its processor is busier
/// than others, and two threads that take turns don't make it so.
static inline void squall_start_on_processor(int index) {
    unsigned long allowed[16] = {0}, one[16] = {0};
    const int bits = 8 * sizeof(unsigned long);
    long size = syscall(SYS_sched_getaffinity, 0, sizeof allowed, allowed);
    if (size <= 0) return;
    int count = 0;
    for (int i = 0; i < 16; i++) count += __builtin_popcountl(allowed[i]);
    if (count < 2) return;
    int left = index % count;
    for (int processor = 0; processor < 16 * bits; processor++) {
        if (!(allowed[processor / bits] >> processor % bits & 1) || left-- > 0) continue;
        one[processor / bits] = 1UL << processor % bits;
        syscall(SYS_sched_setaffinity, 0, sizeof one, one);
        syscall(SYS_sched_setaffinity, 0, (size_t)size, allowed);
        return;
    }
}

static inline void squall_prepare_thread(const char *name) {
    sigset_t brokenPipe;
    sigemptyset(&brokenPipe);
    sigaddset(&brokenPipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &brokenPipe, 0);
    prctl(PR_SET_NAME, name, 0, 0, 0);
    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
}
