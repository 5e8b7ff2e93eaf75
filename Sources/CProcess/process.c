#define _GNU_SOURCE
#include "CProcess.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

void squall_remove_folder(const char *path) {
    char *const paths[] = {(char *)path, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    if (!tree) return;
    for (FTSENT *entry; (entry = fts_read(tree));) {
        // Comes before the content of a directory, which may lack the permissions to list it and to remove from it.
        if (entry->fts_info == FTS_D) chmod(entry->fts_path, S_IRWXU);
        else remove(entry->fts_path);
    }
    fts_close(tree);
}

int squall_close_from(posix_spawn_file_actions_t *actions, int first) {
#if __GLIBC_PREREQ(2, 34)
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
#else
    (void)actions;
    (void)first;
    return 0;
#endif
}

int squall_terminal_columns(int descriptor) {
    struct winsize size = {0};
    return ioctl(descriptor, TIOCGWINSZ, &size) < 0 ? 0 : size.ws_col;
}

int squall_terminal_rows(int descriptor) {
    struct winsize size = {0};
    return ioctl(descriptor, TIOCGWINSZ, &size) < 0 ? 0 : size.ws_row;
}

#ifdef __linux__
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#ifndef __NR_pidfd_open
#define __NR_pidfd_open 434
#endif

int squall_open_process(int process) {
    int descriptor = (int)syscall(__NR_pidfd_open, process, 0);
    return descriptor < 0 ? -errno : descriptor;
}

int squall_open_pipe(int descriptors[2]) {
    return pipe2(descriptors, O_CLOEXEC) == 0 ? 0 : errno;
}

int squall_adopt_orphans(void) {
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 ? 0 : errno;
}

int squall_continue_without_parent(void) {
    return prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0) == 0 ? 0 : errno;
}

int squall_open_child_signals(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigset_t blocked = signals;
    sigaddset(&blocked, SIGHUP);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    if (sigprocmask(SIG_BLOCK, &blocked, NULL) != 0) return -errno;
    int descriptor = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return descriptor < 0 ? -errno : descriptor;
}

void squall_drain_child_signals(int descriptor) {
    struct signalfd_siginfo information;
    while (read(descriptor, &information, sizeof information) > 0) {}
}

static int sent_signals = -1;

static void note_sent(int number, siginfo_t *facts, void *context) {
    (void)context;
    if (facts->si_code > 0) return;
    int code = errno;
    char byte = (char)number;
    ssize_t written = write(sent_signals, &byte, 1);
    (void)written;
    errno = code;
}

int squall_open_sent_signals(const int *numbers, int count) {
    int descriptors[2];
    if (pipe2(descriptors, O_CLOEXEC | O_NONBLOCK) != 0) return -errno;
    sent_signals = descriptors[1];
    struct sigaction action = {.sa_sigaction = note_sent, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (int index = 0; index < count; index++) {
        if (sigaction(numbers[index], &action, NULL) != 0) return -errno;
    }
    return descriptors[0];
}
#else
int squall_open_pipe(int descriptors[2]) {
    if (pipe(descriptors) != 0) return errno;
    for (int index = 0; index < 2; index++) fcntl(descriptors[index], F_SETFD, FD_CLOEXEC);
    return 0;
}

int squall_adopt_orphans(void) { return ENOSYS; }
int squall_continue_without_parent(void) { return ENOSYS; }
int squall_open_process(int process) { (void)process; return -ENOSYS; }
int squall_open_child_signals(void) { return -ENOSYS; }
int squall_open_sent_signals(const int *numbers, int count) { (void)numbers; (void)count; return -ENOSYS; }
void squall_drain_child_signals(int descriptor) { (void)descriptor; }
#endif
