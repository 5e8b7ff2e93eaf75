// What a process needs to keep track of the processes below it, where C has it and Swift can't call it.
#ifndef CPROCESS_H
#define CPROCESS_H

#include <spawn.h>

// Has orphans among the descendants of this process become its children, see PR_SET_CHILD_SUBREAPER in prctl(2).
// Returns 0 or an errno value; ENOSYS where the system isn't Linux.
int squall_adopt_orphans(void);

// Sends this process SIGCONT when its parent ends, so that it goes on if it has been stopped, see PR_SET_PDEATHSIG in
// prctl(2). The end of a thread of the parent may send it as well. Returns 0 or an errno value.
int squall_continue_without_parent(void);

// Blocks SIGCHLD and the signals that end a terminal's processes, SIGHUP, SIGINT and SIGTERM, and returns a descriptor,
// closed on exec, that is readable when a child has ended, or -errno.
int squall_open_child_signals(void);

// Discards what a descriptor of squall_open_child_signals has to read.
void squall_drain_child_signals(int descriptor);

// Has a signal come as a byte, its number, from a descriptor that is closed on exec and doesn't block, when a process has sent
// it. One that the kernel sends, as for a key of a terminal, does nothing: the whole process group has it. To be called once;
// returns the descriptor, or -errno.
int squall_open_sent_signals(const int *numbers, int count);

// A descriptor, closed on exec, that is readable when a process has ended (pidfd_open(2)), or -errno.
int squall_open_process(int process);

// Makes a pipe whose descriptors are closed on exec: its reading end, then its writing end. Returns 0 or an errno value.
int squall_open_pipe(int descriptors[2]);

// Has a program that posix_spawn(3) starts without the descriptors from `first` on. Returns 0 or an errno value. Before glibc 2.34
// the program has those that aren't closed on exec.
int squall_close_from(posix_spawn_file_actions_t *actions, int first);

// The columns and rows of the terminal that a descriptor is, 0 where there are none or it doesn't know (TIOCGWINSZ, tty_ioctl(4)).
int squall_terminal_columns(int descriptor);
int squall_terminal_rows(int descriptor);

// Removes a folder with everything in it, whatever the permissions of its directories, and follows no link. What can't be
// removed stays.
void squall_remove_folder(const char *path);

// Runs the tasks of this process on 2 to 8 threads that sleep until there is a job or its time has come. libdispatch, on
// which they run otherwise, wakes up once a second to look after its threads. To be called once, before the first task.
// Returns 0 or an errno value.
int squall_run_tasks(void);

#endif
