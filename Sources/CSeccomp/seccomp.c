#define _GNU_SOURCE
#include "CSeccomp.h"

#include <errno.h>
#include <string.h>

#ifdef __linux__
#include <dirent.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SO_COOKIE
#define SO_COOKIE 57
#endif
#ifndef SO_BINDTOIFINDEX
#define SO_BINDTOIFINDEX 62
#endif
#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif
#ifndef MSG_FASTOPEN
#define MSG_FASTOPEN 0x20000000
#endif
#ifndef __NR_pidfd_open
#define __NR_pidfd_open 434
#endif
#ifndef __NR_pidfd_getfd
#define __NR_pidfd_getfd 438
#endif
#ifndef __NR_io_uring_setup
#define __NR_io_uring_setup 425
#endif
// SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV.
#define WAIT_KILLABLE (1U << 5)
#define PIDFD_OF_THREAD O_EXCL
// The part of the second argument of socket(2) that is no flag.
#define SOCKET_TYPE 0xf
// struct pidfd_info and PIDFD_GET_INFO of linux/pidfd.h, which older headers lack.
struct thread_info {
    uint64_t mask, control_group;
    uint32_t thread, process, others[10];
};
#define THREAD_INFO _IOWR(0xFF, 11, struct thread_info)
#define TCP_LEVEL 6
#define FASTOPEN_CONNECT 30
#define MULTIPATH_TCP 262

// The system calls of a 32-bit program on this machine.
#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define ARCHITECTURE_32 AUDIT_ARCH_I386
enum { connect_32 = 362, peer_name_32 = 368, get_option_32 = 365, set_option_32 = 366, send_to_32 = 369, send_message_32 = 370 };
enum { send_messages_32 = 345, socket_32 = 359, bind_32 = 361, listen_32 = 363, io_uring_setup_32 = 425, socket_call_32 = 102 };
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#define ARCHITECTURE_32 AUDIT_ARCH_ARM
enum { connect_32 = 283, peer_name_32 = 287, get_option_32 = 295, set_option_32 = 294, send_to_32 = 290, send_message_32 = 296 };
enum { send_messages_32 = 374, socket_32 = 281, bind_32 = 282, listen_32 = 284, io_uring_setup_32 = 425, socket_call_32 = -2 };
#endif

// The calls of socketcall(2).
enum {
    socket_call_socket = 1,
    socket_call_bind = 2,
    socket_call_connect = 3,
    socket_call_listen = 4,
    socket_call_peer_name = 7,
    socket_call_send_to = 11,
    socket_call_set_option = 14,
    socket_call_get_option = 15,
    socket_call_send_message = 16,
    socket_call_send_messages = 20,
};

#ifdef ARCHITECTURE
#define FIELD(name) (offsetof(struct seccomp_data, name))
// The lower half of an argument, on a little-endian machine.
#define ARGUMENT(index) (FIELD(args) + 8 * (index))
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (what))
// Runs the next `count` instructions if the loaded value is `value`, and skips them if not.
#define WHEN(value, count) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, (count))
#define WHEN_ANY_BIT(bits, count) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 0, (count))
#define ASK RETURN(SECCOMP_RET_USER_NOTIF)
// Asks where this process makes the sockets; the kernel ignores the data of the action.
#define ASK_OF_SOCKETS RETURN(SECCOMP_RET_USER_NOTIF | 1)
#define ALLOW RETURN(SECCOMP_RET_ALLOW)
#define FAIL(code) RETURN(SECCOMP_RET_ERRNO | (code))

// A call that the system hasn't got, by its argument `index`.
#define FAIL_WHEN(call, index, value, code) WHEN(call, 4), LOAD(ARGUMENT(index)), WHEN(value, 1), FAIL(code), ALLOW
#define FAIL_WHEN_ANY_BIT(call, index, bits, code) WHEN(call, 4), LOAD(ARGUMENT(index)), WHEN_ANY_BIT(bits, 1), FAIL(code), ALLOW
#define ASK_WHEN(value) WHEN(value, 1), ASK

// For one architecture, 53 instructions: the calls whose callers wait, and those by which a program would connect unseen. A
// program does without TCP Fast Open, Multipath TCP and io_uring where the system hasn't got them.
#define CALLS(connect, peer, get, set, send_to, send_message, send_messages, socket, bind, listen, uring)                        \
    LOAD(FIELD(nr)), ASK_WHEN(connect), ASK_WHEN(peer), WHEN(uring, 1), FAIL(ENOSYS),                                            \
    WHEN(get, 6), LOAD(ARGUMENT(1)), WHEN(SOL_SOCKET, 3), LOAD(ARGUMENT(2)), WHEN(SO_ERROR, 1), ASK, ALLOW,                      \
    WHEN(set, 6), LOAD(ARGUMENT(1)), WHEN(TCP_LEVEL, 3), LOAD(ARGUMENT(2)), WHEN(FASTOPEN_CONNECT, 1), FAIL(EOPNOTSUPP), ALLOW,  \
    FAIL_WHEN_ANY_BIT(send_to, 3, MSG_FASTOPEN, EOPNOTSUPP), FAIL_WHEN_ANY_BIT(send_message, 2, MSG_FASTOPEN, EOPNOTSUPP),       \
    FAIL_WHEN_ANY_BIT(send_messages, 3, MSG_FASTOPEN, EOPNOTSUPP),                                                               \
    WHEN(bind, 1), ASK_OF_SOCKETS, WHEN(listen, 1), ASK_OF_SOCKETS,                                                              \
    WHEN(socket, 12), LOAD(ARGUMENT(2)), WHEN(MULTIPATH_TCP, 1), FAIL(EPROTONOSUPPORT),                                          \
    LOAD(ARGUMENT(1)), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SOCKET_TYPE), WHEN(SOCK_STREAM, 5),                                   \
    LOAD(ARGUMENT(0)), WHEN(AF_INET, 1), ASK_OF_SOCKETS, WHEN(AF_INET6, 1), ASK_OF_SOCKETS, ALLOW

static const struct sock_filter filter[] = {
    LOAD(FIELD(arch)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE_32, 59, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
    FAIL(ENOSYS),
#if defined(__x86_64__)
    // The calls of x32.
    LOAD(FIELD(nr)), BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), FAIL(ENOSYS),
#else
    LOAD(FIELD(nr)), LOAD(FIELD(nr)), LOAD(FIELD(nr)),
#endif
    CALLS(__NR_connect, __NR_getpeername, __NR_getsockopt, __NR_setsockopt, __NR_sendto, __NR_sendmsg, __NR_sendmmsg, __NR_socket, __NR_bind, __NR_listen, __NR_io_uring_setup),
    ALLOW,
    // The filter can't read the arguments of socketcall(2), which are in memory.
    LOAD(FIELD(nr)), WHEN(socket_call_32, 21), LOAD(ARGUMENT(0)),
    WHEN(socket_call_bind, 1), ASK_OF_SOCKETS, WHEN(socket_call_listen, 1), ASK_OF_SOCKETS,
    ASK_WHEN(socket_call_connect), ASK_WHEN(socket_call_peer_name), ASK_WHEN(socket_call_get_option), ASK_WHEN(socket_call_set_option),
    ASK_WHEN(socket_call_send_to), ASK_WHEN(socket_call_send_message), ASK_WHEN(socket_call_send_messages), ASK_WHEN(socket_call_socket),
    CALLS(connect_32, peer_name_32, get_option_32, set_option_32, send_to_32, send_message_32, send_messages_32, socket_32, bind_32, listen_32, io_uring_setup_32),
    ALLOW,
};

// Whether proc(5) is mounted, and that of this process's PID namespace: it tells which threads have a signal.
static int has_own_proc(void) {
    char number[16] = {0};
    return readlink("/proc/self", number, sizeof number - 1) > 0 && atoi(number) == getpid();
}

int squall_supervise_connects(int makes_sockets, int *holds_signals) {
    *holds_signals = 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -errno;
    enum { count = sizeof filter / sizeof filter[0] };
    struct sock_filter instructions[count];
    const struct sock_filter asks = ASK_OF_SOCKETS, allows = ALLOW;
    for (size_t i = 0; i < count; i++) {
        int is_left_out = !makes_sockets && filter[i].code == asks.code && filter[i].k == asks.k;
        instructions[i] = is_left_out ? allows : filter[i];
    }
    struct sock_fprog program = {count, instructions};
    // From Linux 5.19 on a signal waits until its thread's call, which has been taken, is answered: the supervisor may write to the
    // thread's memory, and a call of a moment never fails with EINTR.
    unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
    int supervisor = -1;
    errno = EINVAL;
    if (has_own_proc()) supervisor = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | WAIT_KILLABLE, &program);
    *holds_signals = supervisor >= 0;
    if (supervisor < 0 && errno == EINVAL) supervisor = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    return supervisor < 0 ? -errno : supervisor;
}

static int is_stream(uint32_t domain, uint32_t type) {
    return (type & SOCKET_TYPE) == SOCK_STREAM && (domain == AF_INET || domain == AF_INET6);
}

// Decodes socketcall(2), whose arguments are in the caller's memory.
static void decode_socket_call(const struct seccomp_notif *notice, struct squall_call *call) {
    uint32_t number = (uint32_t)notice->data.args[0], arguments[5] = {0};
    size_t count = number == socket_call_get_option ? 5 : number == socket_call_send_to || number == socket_call_send_messages ? 4 : 3;
    ssize_t size = (ssize_t)(count * sizeof *arguments);
    int is_read = squall_read_memory((pid_t)notice->pid, notice->data.args[1], arguments, (size_t)size) == size;
    if (!is_read && number != socket_call_connect) return;
    call->descriptor = (int)arguments[0];
    call->value = arguments[1];
    call->length = arguments[2];
    switch (number) {
    case socket_call_connect:
        call->kind = squall_call_connect;
        // The connect fails as its address can't be read either.
        if (!is_read) call->length = sizeof(struct sockaddr_in);
        return;
    case socket_call_peer_name:
        call->kind = squall_call_peer_name;
        return;
    case socket_call_get_option:
        if (arguments[1] != SOL_SOCKET || arguments[2] != SO_ERROR) return;
        call->kind = squall_call_pending_error;
        call->value = arguments[3];
        call->length = arguments[4];
        return;
    case socket_call_set_option:
        if (arguments[1] == TCP_LEVEL && arguments[2] == FASTOPEN_CONNECT) call->error = EOPNOTSUPP;
        break;
    case socket_call_send_message:
        if (arguments[2] & MSG_FASTOPEN) call->error = EOPNOTSUPP;
        break;
    case socket_call_send_to:
    case socket_call_send_messages:
        if (arguments[3] & MSG_FASTOPEN) call->error = EOPNOTSUPP;
        break;
    case socket_call_socket:
        if (arguments[2] == MULTIPATH_TCP) {
            call->error = EPROTONOSUPPORT;
            break;
        }
        if (is_stream(arguments[0], arguments[1])) call->kind = squall_call_socket;
        return;
    case socket_call_bind:
        call->kind = squall_call_bind;
        return;
    case socket_call_listen:
        call->kind = squall_call_listen;
        return;
    }
    if (call->error) call->kind = squall_call_unsupported;
}

static void decode(const struct seccomp_notif *notice, struct squall_call *call) {
    const struct seccomp_data *data = &notice->data;
    call->id = notice->id;
    call->thread = (pid_t)notice->pid;
    call->kind = squall_call_other;
    call->descriptor = (int)data->args[0];
    call->value = data->args[1];
    call->length = data->args[2];
    call->error = 0;
    int is_32 = data->arch == ARCHITECTURE_32;
    if (is_32 && data->nr == socket_call_32) {
        decode_socket_call(notice, call);
    } else if (data->nr == (is_32 ? connect_32 : __NR_connect)) {
        call->kind = squall_call_connect;
    } else if (data->nr == (is_32 ? peer_name_32 : __NR_getpeername)) {
        call->kind = squall_call_peer_name;
    } else if (data->nr == (is_32 ? get_option_32 : __NR_getsockopt)) {
        call->kind = squall_call_pending_error;
        call->value = data->args[3];
        call->length = data->args[4];
    } else if (data->nr == (is_32 ? socket_32 : __NR_socket)) {
        call->kind = squall_call_socket;
    } else if (data->nr == (is_32 ? bind_32 : __NR_bind)) {
        call->kind = squall_call_bind;
    } else if (data->nr == (is_32 ? listen_32 : __NR_listen)) {
        call->kind = squall_call_listen;
    }
}

int squall_next_call(int supervisor, struct squall_call *call) {
    // Room for fields of later kernels, which the filter doesn't ask for.
    union {
        struct seccomp_notif notice;
        char room[512];
    } received;
    memset(&received, 0, sizeof received);
    if (ioctl(supervisor, SECCOMP_IOCTL_NOTIF_RECV, &received.notice) != 0) return errno;
    decode(&received.notice, call);
    return 0;
}

int squall_is_waiting(int supervisor, uint64_t id) {
    return ioctl(supervisor, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

int squall_answer(int supervisor, uint64_t id, int error) {
    struct seccomp_notif_resp response = {.id = id};
    if (error < 0) {
        response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else {
        response.error = -error;
    }
    return ioctl(supervisor, SECCOMP_IOCTL_NOTIF_SEND, &response) == 0 ? 0 : errno;
}

int squall_give(int supervisor, uint64_t id, int descriptor, int closes_on_exec) {
    struct seccomp_notif_addfd gift = {.id = id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = (uint32_t)descriptor};
    if (closes_on_exec) gift.newfd_flags = O_CLOEXEC;
    int given = ioctl(supervisor, SECCOMP_IOCTL_NOTIF_ADDFD, &gift);
    return given < 0 ? -errno : given;
}

int squall_may_duplicate(void) {
    int own = (int)syscall(__NR_pidfd_open, getpid(), 0);
    if (own < 0) return errno;
    int copy = squall_duplicate(own, own);
    if (copy >= 0) close(copy);
    close(own);
    return copy < 0 ? -copy : 0;
}

// Room for proc_pid_status(5), which names all groups of the process.
enum { status_size = 1 << 16 };

// Reads a file of proc(5); its text is empty on failure.
static void read_text(const char *path, char text[status_size]) {
    text[0] = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    ssize_t count = read(file, text, status_size - 1);
    close(file);
    text[count > 0 ? count : 0] = 0;
}

static void read_status(pid_t thread, char text[status_size]) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)thread);
    read_text(path, text);
}

// A number behind the name of a line of that text; 0 if there is none.
static uint64_t status_value(const char *text, const char *name, int base) {
    const char *line = strstr(text, name);
    return line ? strtoull(line + strlen(name), NULL, base) : 0;
}

// The letter of the state; X, as of a thread that is gone, if there is none.
static char status_state(const char *text) {
    const char *name = "\nState:\t", *line = strstr(text, name);
    return line ? line[strlen(name)] : 'X';
}

int squall_is_running(pid_t thread) {
    char text[status_size];
    read_status(thread, text);
    return status_state(text) == 'R';
}

int squall_has_signal(pid_t thread) {
    char text[status_size];
    read_status(thread, text);
    // A thread begins to wait before its call is taken, in state S, and the kernel has it wait in state D once it was woken without an
    // answer (should_sleep_killable in kernel/seccomp.c, 5.19 and later).
    return status_state(text) == 'D';
}

int squall_is_blocking(pid_t thread, int descriptor) {
    char path[64], text[status_size];
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)thread, descriptor);
    read_text(path, text);
    return (status_value(text, "flags:", 8) & O_NONBLOCK) == 0;
}

// The process of a thread: from the kernel (6.13 and later), or by its status, which takes 20 times as long; 0 on failure.
static pid_t process_of(int descriptor, pid_t thread) {
    struct thread_info info = {0};
    if (descriptor >= 0 && ioctl(descriptor, THREAD_INFO, &info) == 0) return (pid_t)info.process;
    char text[status_size];
    read_status(thread, text);
    return (pid_t)status_value(text, "\nTgid:", 10);
}

int squall_open_thread(pid_t thread, pid_t *process, int *is_whole) {
    *process = thread;
    *is_whole = 0;
    int descriptor = (int)syscall(__NR_pidfd_open, thread, 0);
    if (descriptor >= 0) return descriptor;
    // Not the first thread of its process. A thread may have descriptors of its own; kernels before 6.9 open processes only.
    descriptor = (int)syscall(__NR_pidfd_open, thread, PIDFD_OF_THREAD);
    *process = process_of(descriptor, thread);
    if (descriptor < 0 && *process > 0) {
        *is_whole = 1;
        descriptor = (int)syscall(__NR_pidfd_open, *process, 0);
    }
    return descriptor < 0 ? -errno : descriptor;
}

int squall_duplicate(int thread, int descriptor) {
    int copy = (int)syscall(__NR_pidfd_getfd, thread, descriptor, 0);
    return copy < 0 ? -errno : copy;
}

int squall_duplicate_by_any(pid_t process, int descriptor) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)process);
    DIR *threads = opendir(path);
    if (!threads) return -errno;
    int copy = -ESRCH;
    struct dirent *entry;
    while (copy < 0 && (entry = readdir(threads))) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10), unused;
        int is_whole, other = thread > 0 ? squall_open_thread(thread, &unused, &is_whole) : -1;
        if (other < 0) continue;
        copy = squall_duplicate(other, descriptor);
        close(other);
        // Of a first thread that has ended EBADF means nothing.
        if (copy == -EBADF && thread != process) break;
    }
    closedir(threads);
    return copy;
}

// Opens proc_pid_mem(5), which needs the same rights as process_vm_readv(2). Filters of system calls allow it where they forbid that.
static int open_memory(pid_t thread, int mode) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)thread);
    int file = open(path, mode | O_CLOEXEC);
    return file >= 0 ? file : errno == EACCES ? -EPERM : -errno;
}

ssize_t squall_read_memory(pid_t thread, uint64_t address, void *bytes, size_t count) {
    struct iovec own = {bytes, count}, other = {(void *)(uintptr_t)address, count};
    ssize_t copied = process_vm_readv(thread, &own, 1, &other, 1, 0);
    if (copied >= 0) return copied;
    if (errno != EPERM && errno != ENOSYS) return -errno;
    int file = open_memory(thread, O_RDONLY);
    if (file < 0) return file;
    copied = pread(file, bytes, count, (off_t)address);
    // No memory is there.
    if (copied < 0) copied = errno == EIO ? -EFAULT : -errno;
    close(file);
    return copied;
}

int squall_tell(
    int supervisor, uint64_t id, pid_t thread, uint64_t value, const void *bytes, size_t count, uint64_t length, int32_t whole
) {
    struct iovec own[] = {{(void *)bytes, count}, {&whole, sizeof whole}};
    struct iovec other[] = {{(void *)(uintptr_t)value, count}, {(void *)(uintptr_t)length, sizeof whole}};
    // A signal may end the call at any time, and its memory be the program's again: nothing is done between this and the write.
    if (!squall_is_waiting(supervisor, id)) return ESRCH;
    ssize_t written = process_vm_writev(thread, own, 2, other, 2, 0);
    if (written < 0 && (errno == EPERM || errno == ENOSYS)) {
        int file = open_memory(thread, O_WRONLY);
        if (file < 0) return -file;
        if (squall_is_waiting(supervisor, id)) {
            written = pwrite(file, bytes, count, (off_t)value);
            if (written >= 0) written += pwrite(file, &whole, sizeof whole, (off_t)length);
        }
        close(file);
    }
    return written == (ssize_t)(count + sizeof whole) ? 0 : EFAULT;
}

void squall_set_blocking(int descriptor, int blocks) {
    int off = !blocks;
    ioctl(descriptor, FIONBIO, &off);
}

static uint64_t cookie(int descriptor, int option) {
    uint64_t cookie = 0;
    socklen_t length = sizeof cookie;
    return getsockopt(descriptor, SOL_SOCKET, option, &cookie, &length) == 0 ? cookie : 0;
}

uint64_t squall_socket_cookie(int descriptor) { return cookie(descriptor, SO_COOKIE); }

uint64_t squall_network_cookie(int descriptor) { return cookie(descriptor, SO_NETNS_COOKIE); }

int squall_bound_interface(int descriptor) {
    int interface = 0;
    socklen_t length = sizeof interface;
    return getsockopt(descriptor, SOL_SOCKET, SO_BINDTOIFINDEX, &interface, &length) == 0 ? interface : 0;
}

// The address and the port of a sockaddr as inet_diag has them.
static void fill(const struct sockaddr *address, __be32 *bytes, __be16 *port) {
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
        memcpy(bytes, &six->sin6_addr, sizeof six->sin6_addr);
        *port = six->sin6_port;
    } else {
        const struct sockaddr_in *four = (const struct sockaddr_in *)address;
        memcpy(bytes, &four->sin_addr, sizeof four->sin_addr);
        *port = four->sin_port;
    }
}

int squall_socket_state(const struct sockaddr *local, const struct sockaddr *peer, uint64_t cookie) {
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 body;
    } request = {
        {.nlmsg_len = sizeof request, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
        {.sdiag_family = (__u8)local->sa_family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0U},
    };
    struct inet_diag_sockid *socket_id = &request.body.id;
    fill(local, socket_id->idiag_src, &socket_id->idiag_sport);
    fill(peer, socket_id->idiag_dst, &socket_id->idiag_dport);
    // Of lo in every namespace; sockets that aren't bound to an interface match as well.
    socket_id->idiag_if = 1;
    socket_id->idiag_cookie[0] = (__u32)cookie;
    socket_id->idiag_cookie[1] = (__u32)(cookie >> 32);
    union {
        struct nlmsghdr header;
        char room[4096];
    } reply;
    int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (netlink < 0) return -errno;
    ssize_t count = send(netlink, &request, sizeof request, 0);
    if (count >= 0) count = recv(netlink, &reply, sizeof reply, MSG_DONTWAIT);
    int code = errno;
    close(netlink);
    if (count < 0) return -code;
    if ((size_t)count < NLMSG_LENGTH(sizeof(struct inet_diag_msg)) || reply.header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return 0;
    return ((const struct inet_diag_msg *)NLMSG_DATA(&reply.header))->idiag_state;
}
#endif
#endif

#ifndef ARCHITECTURE
int squall_supervise_connects(int makes_sockets, int *holds_signals) {
    (void)makes_sockets;
    *holds_signals = 0;
    return -ENOSYS;
}
int squall_has_signal(pid_t thread) { (void)thread; return 0; }
int squall_is_blocking(pid_t thread, int descriptor) { (void)thread, (void)descriptor; return 1; }
int squall_may_duplicate(void) { return ENOSYS; }
int squall_give(int supervisor, uint64_t id, int descriptor, int closes_on_exec) {
    (void)supervisor; (void)id; (void)descriptor; (void)closes_on_exec;
    return -ENOSYS;
}
int squall_next_call(int supervisor, struct squall_call *call) { (void)supervisor; (void)call; return ENOSYS; }
int squall_is_waiting(int supervisor, uint64_t id) { (void)supervisor; (void)id; return 0; }
int squall_answer(int supervisor, uint64_t id, int error) { (void)supervisor; (void)id; (void)error; return ENOSYS; }
int squall_open_thread(pid_t thread, pid_t *process, int *is_whole) {
    *process = thread;
    *is_whole = 0;
    return -ENOSYS;
}
int squall_duplicate(int thread, int descriptor) { (void)thread; (void)descriptor; return -ENOSYS; }
int squall_duplicate_by_any(pid_t process, int descriptor) { (void)process; (void)descriptor; return -ENOSYS; }
ssize_t squall_read_memory(pid_t thread, uint64_t address, void *bytes, size_t count) {
    (void)thread; (void)address; (void)bytes; (void)count;
    return -ENOSYS;
}
int squall_tell(
    int supervisor, uint64_t id, pid_t thread, uint64_t value, const void *bytes, size_t count, uint64_t length, int32_t whole
) {
    (void)supervisor; (void)id; (void)thread; (void)value; (void)bytes; (void)count; (void)length; (void)whole;
    return ENOSYS;
}
void squall_set_blocking(int descriptor, int blocks) { (void)descriptor; (void)blocks; }
uint64_t squall_socket_cookie(int descriptor) { (void)descriptor; return 0; }
uint64_t squall_network_cookie(int descriptor) { (void)descriptor; return 0; }
int squall_bound_interface(int descriptor) { (void)descriptor; return 0; }
int squall_socket_state(const struct sockaddr *local, const struct sockaddr *peer, uint64_t cookie) {
    (void)local; (void)peer; (void)cookie;
    return -ENOSYS;
}
#endif

const char *squall_error_name(int code) { return strerrorname_np(code); }
