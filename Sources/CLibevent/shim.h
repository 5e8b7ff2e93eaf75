// What Swift needs of libevent and of Linux that it can't import by itself.
#pragma once

// Before any libevent header: event-config.h defines _GNU_SOURCE, and a glibc header read after that
// point would describe fd_set differently from the copy that Swift's Glibc module knows.
#include <sys/select.h>

#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/thread.h>
#include <linux/filter.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>

int accept4(int, struct sockaddr *, socklen_t *, int);

/// accept4(2), non-blocking and close-on-exec from the first moment.
static inline int squall_accept(int listener) {
    return accept4(listener, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
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

/// The columns of the terminal that `descriptor` is, or 0 when it is none or doesn't know (TIOCGWINSZ, tty_ioctl(4)).
static inline int squall_terminal_columns(int descriptor) {
    struct winsize size = {0};
    return ioctl(descriptor, TIOCGWINSZ, &size) < 0 ? 0 : size.ws_col;
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

/// Gives freed memory back to the system (malloc_trim(3)).
static inline void squall_give_memory_back(void) {
    malloc_trim(0);
}

// libevent keeps a small record of each descriptor for as long as a loop lives. Among the memory of connections such
// records would keep the pages from going back to the system when the connections have gone, so they have pages of
// their own. In front of each piece of memory stands its size.
struct squall_record {
    union {
        size_t size;
        struct squall_record *next;
    };
    size_t unused;
    char content[16];
};

/// The records of the calling thread that are free.
static inline struct squall_record **squall_free_records(void) {
    static __thread struct squall_record *first;
    return &first;
}

static inline void *squall_allocate(size_t size) {
    enum { recordsAtOnce = 2048 };
    struct squall_record **free = squall_free_records(), *record = *free;
    if (size > sizeof record->content) {
        record = size > SIZE_MAX - sizeof *record ? 0 : (struct squall_record *)malloc(sizeof *record + size);
        if (!record) return 0;
        record->size = size;
        return record->content;
    }
    if (!record) {
        struct squall_record *block = (struct squall_record *)malloc(recordsAtOnce * sizeof *block);
        if (!block) return 0;
        for (int i = 0; i < recordsAtOnce; i++) {
            block[i].next = *free;
            *free = &block[i];
        }
        record = *free;
    }
    *free = record->next;
    record->size = size;
    return record->content;
}

static inline void squall_deallocate(void *content) {
    if (!content) return;
    struct squall_record *record = (struct squall_record *)((char *)content - offsetof(struct squall_record, content));
    if (record->size > sizeof record->content) {
        free(record);
    } else {
        record->next = *squall_free_records();
        *squall_free_records() = record;
    }
}

static inline void *squall_reallocate(void *content, size_t size) {
    if (!content) return squall_allocate(size);
    struct squall_record *record = (struct squall_record *)((char *)content - offsetof(struct squall_record, content));
    if (record->size > sizeof record->content && size > sizeof record->content) {
        record = size > SIZE_MAX - sizeof *record ? 0 : (struct squall_record *)realloc(record, sizeof *record + size);
        if (!record) return 0;
        record->size = size;
        return record->content;
    }
    void *moved = squall_allocate(size);
    if (!moved) return 0;
    memcpy(moved, content, record->size < size ? record->size : size);
    squall_deallocate(content);
    return moved;
}

/// Has libevent take its memory from here. To be called once, before anything else of libevent.
static inline void squall_keep_records_apart(void) {
    event_set_mem_functions(squall_allocate, squall_reallocate, squall_deallocate);
}

/// Prepares the calling thread to be a loop: names it in what ps and perf show (15 bytes of the name are
/// used) and has its timers fire on time instead of up to 50 µs later (prctl(2)).
static inline void squall_prepare_thread(const char *name) {
    prctl(PR_SET_NAME, name, 0, 0, 0);
    prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
}
