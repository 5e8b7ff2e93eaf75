// The least that a supervisor of connect(2) has to do, for cost.py: it makes the calls of `squall exec` for a connect that blocks,
// in one thread, with no proxy, plan, journal or check. Nothing is forwarded.
//
//     least COMMAND…
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int need(int result, const char *call) {
    if (result >= 0) return result;
    perror(call);
    exit(1);
}

// A socket that shares the address, as those of the proxy do that meet programs'.
static int sharing(const struct sockaddr_in *address) {
    int made = need(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket"), one = 1;
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(made, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one);
    need(bind(made, (const struct sockaddr *)address, sizeof *address), "bind");
    return made;
}

static void await(int descriptor) {
    struct pollfd entry = {descriptor, POLLOUT, 0};
    poll(&entry, 1, 1000);
}

// The other end of each socket.
static int peers[1 << 16];

static void watch(int events, int descriptor) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.fd = descriptor};
    epoll_ctl(events, EPOLL_CTL_ADD, descriptor, &event);
}

static void serve(int supervisor, int events, const struct sockaddr_in *listener) {
    struct seccomp_notif notice = {0};
    if (ioctl(supervisor, SECCOMP_IOCTL_NOTIF_RECV, &notice) != 0) return;
    struct seccomp_notif_resp answer = {.id = notice.id};
    struct sockaddr_storage target = {0};
    struct iovec own = {&target, notice.data.args[2]}, other = {(void *)notice.data.args[1], notice.data.args[2]};
    process_vm_readv((pid_t)notice.pid, &own, 1, &other, 1, 0);
    // PIDFD_THREAD, which linux/pidfd.h of older systems lacks: most of the threads aren't the first of their process.
    int thread = need((int)syscall(SYS_pidfd_open, notice.pid, O_EXCL), "pidfd_open");
    int program = (int)syscall(SYS_pidfd_getfd, thread, (int)notice.data.args[0], 0);
    if (target.ss_family != AF_INET || program < 0) {
        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else if (ioctl(supervisor, SECCOMP_IOCTL_NOTIF_ID_VALID, &notice.id) == 0) {
        int on = 1, off = 0;
        ioctl(program, FIONBIO, &on);
        connect(program, (const struct sockaddr *)listener, sizeof *listener);
        struct sockaddr_in local;
        socklen_t size = sizeof local;
        getsockname(program, (struct sockaddr *)&local, &size);
        int dialed = need(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), "socket");
        connect(dialed, (const struct sockaddr *)&target, sizeof(struct sockaddr_in));
        await(dialed);
        int met = sharing(listener);
        connect(met, (const struct sockaddr *)&local, sizeof local);
        await(met);
        ioctl(program, FIONBIO, &off);
        peers[met] = dialed;
        peers[dialed] = met;
        watch(events, met);
        watch(events, dialed);
    }
    if (program >= 0) close(program);
    close(thread);
    ioctl(supervisor, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

int main(int count, char **words) {
    if (count < 2) return 2;
    int started[2], taken[2], supervisor = -1;
    need(pipe2(started, 0), "pipe2");
    need(pipe2(taken, 0), "pipe2");
    pid_t child = need(fork(), "fork");
    if (child == 0) {
        struct sock_filter filter[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = {4, filter};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        int made = need((int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program), "seccomp");
        char byte;
        need((int)write(started[1], &made, sizeof made), "write");
        need((int)read(taken[0], &byte, 1), "read");
        execvp(words[1], words + 1);
        _exit(127);
    }
    need((int)read(started[0], &supervisor, sizeof supervisor), "read");
    supervisor = need((int)syscall(SYS_pidfd_getfd, need((int)syscall(SYS_pidfd_open, child, 0), "pidfd_open"), supervisor, 0), "pidfd_getfd");
    struct sockaddr_in listener = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int silent = sharing(&listener), events = need(epoll_create1(0), "epoll_create1");
    socklen_t size = sizeof listener;
    need(listen(silent, 0), "listen");
    getsockname(silent, (struct sockaddr *)&listener, &size);
    // From now on its queue is full.
    need(connect(need(socket(AF_INET, SOCK_STREAM, 0), "socket"), (const struct sockaddr *)&listener, size), "connect");
    watch(events, supervisor);
    need((int)write(taken[1], "", 1), "write");
    for (;;) {
        struct epoll_event found[16];
        int ready = epoll_wait(events, found, 16, -1);
        for (int index = 0; index < ready; index++) {
            int descriptor = found[index].data.fd;
            char bytes[4096];
            if (descriptor == supervisor && found[index].events & EPOLLHUP) {
                int status = 0;
                waitpid(child, &status, 0);
                return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
            }
            if (descriptor == supervisor) {
                serve(supervisor, events, &listener);
                continue;
            }
            ssize_t received = read(descriptor, bytes, sizeof bytes);
            // An event of a socket that is closed by now isn't the next one's.
            if (received > 0 || (received < 0 && errno == EAGAIN)) continue;
            close(peers[descriptor]);
            close(descriptor);
        }
    }
}
