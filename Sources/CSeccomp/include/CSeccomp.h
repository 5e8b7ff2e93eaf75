// What a supervisor of other programs' connect(2) needs of Linux, where Swift can't call it: a filter of system calls whose
// caller waits for an answer (seccomp_unotify(2)), and the descriptors and the memory of that caller.
#ifndef CSECCOMP_H
#define CSECCOMP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#ifdef __linux__
// For Swift, whose Glibc leaves them out.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#endif

// The calls that wait for an answer.
enum {
    squall_call_other = 0,
    squall_call_connect = 1,
    squall_call_peer_name = 2,
    squall_call_pending_error = 3,
    squall_call_unsupported = 4,
    // Of programs whose sockets this process makes: socket(2) for TCP, with the three arguments in `descriptor`, `value` and
    // `length`, bind(2), and listen(2).
    squall_call_socket = 5,
    squall_call_bind = 6,
    squall_call_listen = 7,
};

// A thread of a supervised program that waits for an answer.
struct squall_call {
    uint64_t id;
    // The thread.
    pid_t thread;
    // One of squall_call_….
    int kind;
    int descriptor;
    // The address of the caller's memory for a socket's address or an option's value.
    uint64_t value;
    // For connect the length of the address, for the others the address of the length.
    uint64_t length;
    // For squall_call_unsupported how it fails: an errno value.
    int error;
};

// Filters the calls of this thread and of everything that it starts, for ever, and sets no_new_privs (prctl(2)). With
// `makes_sockets` those by which a program gets, binds or opens a socket of TCP wait as well. Returns a descriptor for
// squall_next_call, closed on exec, or -errno: EBUSY if another supervisor is there already. `holds_signals` is set if signals of a
// thread wait for the answer of a call that was taken, those that kill it aside: from Linux 5.19 on, where /proc is that of this
// process.
int squall_supervise_connects(int makes_sockets, int *holds_signals);

// Whether a thread that waits for the answer of a call, and whose signals wait for it too, was woken: by a signal that it takes, a
// stop, a debugger or the freezer of its control group. By its state in proc_pid_status(5).
int squall_has_signal(pid_t thread);

// Whether a thread runs, or waits for a processor alone, by its state in proc_pid_status(5).
int squall_is_running(pid_t thread);

// Whether a descriptor of a thread blocks, by its flags in proc(5); 1 if they can't be read.
int squall_is_blocking(pid_t thread, int descriptor);

// Whether squall_duplicate is allowed at all: 0 or an errno value, as EPERM in many containers.
int squall_may_duplicate(void);

// Ends a call by giving its thread a descriptor of this process (SECCOMP_IOCTL_NOTIF_ADDFD, Linux 5.14). Returns its number there,
// which the call returns as well, or -errno.
int squall_give(int supervisor, uint64_t id, int descriptor, int closes_on_exec);

// Takes the next call that waits for an answer. Returns 0 or an errno value; ENOENT if its caller doesn't wait any more.
int squall_next_call(int supervisor, struct squall_call *call);

// Whether the caller still waits.
int squall_is_waiting(int supervisor, uint64_t id);

// Ends a call: it succeeds, fails with `error`, or, with -1 for `error`, is made by the kernel as if nobody had been asked.
// Returns 0 or an errno value.
int squall_answer(int supervisor, uint64_t id, int error);

// A descriptor of `thread`, by pidfd_open(2), for squall_duplicate, and the number of its process, 0 if it can't be had; `is_whole` is
// set where the kernel opens processes only, and the descriptor is that of the process. Returns -errno on failure.
int squall_open_thread(pid_t thread, pid_t *process, int *is_whole);

// Duplicates a descriptor of a thread, closed on exec, see pidfd_getfd(2). Returns -errno on failure.
int squall_duplicate(int thread, int descriptor);

// The same by any thread of `process` that lives.
int squall_duplicate_by_any(pid_t process, int descriptor);

// Copies from the memory of a thread's process. Returns the number of bytes, or -errno: EFAULT if nothing can be copied there.
ssize_t squall_read_memory(pid_t thread, uint64_t address, void *bytes, size_t count);

// Writes a value and its length to the memory of a thread that still waits for the answer of a call. Returns 0 or an errno value:
// ESRCH if it doesn't wait.
int squall_tell(
    int supervisor, uint64_t id, pid_t thread, uint64_t value, const void *bytes, size_t count, uint64_t length, int32_t whole
);

// Sets whether the calls of a socket wait.
void squall_set_blocking(int descriptor, int blocks);

// The name of an errno value, such as ECONNREFUSED; NULL if there is none.
const char *squall_error_name(int code);

// A number that no other socket of the machine has (SO_COOKIE, socket(7)); 0 on failure.
uint64_t squall_socket_cookie(int descriptor);

// The number of a socket's network namespace (SO_NETNS_COOKIE); 0 if the kernel doesn't tell (before 5.14).
uint64_t squall_network_cookie(int descriptor);

// The number of the interface that a socket is bound to (SO_BINDTOIFINDEX); 0 for none.
int squall_bound_interface(int descriptor);

// Some states of a socket of TCP that squall_socket_state tells, those of the kernel.
enum { squall_syn_sent = 2, squall_syn_received = 3, squall_time_wait = 6, squall_closed = 7 };

// The state of the socket of TCP with this cookie, UINT64_MAX for any, and these addresses, whoever has it (sock_diag(7)). 0 if there
// is none, -errno on failure.
int squall_socket_state(const struct sockaddr *local, const struct sockaddr *peer, uint64_t cookie);

#endif
