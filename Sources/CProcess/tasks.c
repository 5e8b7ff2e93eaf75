#define _GNU_SOURCE
#include "CProcess.h"
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

// The hooks of Swift's runtime, see swift/Runtime/Concurrency.h. Jobs and executors are pointers to C.
#define SWIFT __attribute__((swiftcall))
extern void (*swift_task_enqueueGlobal_hook)(void *job, void *original) SWIFT;
extern void (*swift_task_enqueueGlobalWithDelay_hook)(unsigned long long nanoseconds, void *job, void *original) SWIFT;
extern void (*swift_task_enqueueGlobalWithDeadline_hook)(long long seconds, long long nanoseconds,
                                                         long long leeway_seconds, long long leeway_nanoseconds,
                                                         int clock, void *job, void *original) SWIFT;
extern void swift_job_run(void *job, void *executor, uintptr_t implementation) SWIFT;

// The clock of a deadline that goes on while the machine sleeps.
enum { CONTINUOUS = 1 };

struct entry {
    struct entry *next;
    void *job;
    int64_t due;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed, timed;
// Jobs that can run, in order, and those with a time, the earliest first.
static struct entry *ready, **last = &ready, *later;
// Whether a thread waits for the earliest time.
static int is_timed;

static int64_t now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static struct entry *make(void *job, int64_t due) {
    struct entry *entry = malloc(sizeof *entry);
    if (!entry) abort();
    *entry = (struct entry){NULL, job, due};
    return entry;
}

static void append(struct entry *entry) {
    entry->next = NULL;
    *last = entry;
    last = &entry->next;
    pthread_cond_signal(&changed);
}

static SWIFT void enqueue(void *job, void *original) {
    (void)original;
    pthread_mutex_lock(&lock);
    append(make(job, 0));
    pthread_mutex_unlock(&lock);
}

static SWIFT void enqueue_after(unsigned long long nanoseconds, void *job, void *original) {
    (void)original;
    int64_t limit = INT64_MAX / 2;
    int64_t due = now(CLOCK_MONOTONIC) + (nanoseconds < (uint64_t)limit ? (int64_t)nanoseconds : limit);
    struct entry *entry = make(job, due);
    pthread_mutex_lock(&lock);
    struct entry **place = &later;
    while (*place && (*place)->due <= due) place = &(*place)->next;
    entry->next = *place;
    *place = entry;
    if (later == entry) pthread_cond_signal(is_timed ? &timed : &changed);
    pthread_mutex_unlock(&lock);
}

static SWIFT void enqueue_at(long long seconds, long long nanoseconds, long long leeway_seconds,
                             long long leeway_nanoseconds, int clock, void *job, void *original) {
    (void)leeway_seconds, (void)leeway_nanoseconds;
    int64_t sooner = now(clock == CONTINUOUS ? CLOCK_BOOTTIME : CLOCK_MONOTONIC), wait;
    if (__builtin_mul_overflow(seconds, 1000000000LL, &wait) || __builtin_add_overflow(wait, nanoseconds, &wait))
        wait = INT64_MAX;
    enqueue_after(wait > sooner ? (uint64_t)(wait - sooner) : 0, job, original);
}

static void *work(void *none) {
    (void)none;
    pthread_mutex_lock(&lock);
    while (1) {
        while (later && later->due <= now(CLOCK_MONOTONIC)) {
            struct entry *entry = later;
            later = entry->next;
            append(entry);
        }
        if (ready) {
            struct entry *entry = ready;
            ready = entry->next;
            if (!ready) last = &ready;
            // Another thread waits for the earliest time meanwhile.
            if (later && !is_timed) pthread_cond_signal(&changed);
            pthread_mutex_unlock(&lock);
            void *job = entry->job;
            free(entry);
            swift_job_run(job, NULL, 0);
            pthread_mutex_lock(&lock);
        } else if (later && !is_timed) {
            struct timespec due = {later->due / 1000000000LL, later->due % 1000000000LL};
            is_timed = 1;
            pthread_cond_timedwait(&timed, &lock, &due);
            is_timed = 0;
        } else {
            pthread_cond_wait(&changed, &lock);
        }
    }
    return NULL;
}

int squall_run_tasks(void) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &monotonic);
    pthread_cond_init(&timed, &monotonic);
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    count = count < 2 ? 2 : count > 8 ? 8 : count;
    for (long index = 0; index < count; index++) {
        pthread_t thread;
        int error = pthread_create(&thread, NULL, work, NULL);
        // One thread is enough.
        if (error) {
            if (index == 0) return error;
            break;
        }
        pthread_detach(thread);
    }
    swift_task_enqueueGlobalWithDelay_hook = enqueue_after;
    swift_task_enqueueGlobalWithDeadline_hook = enqueue_at;
    swift_task_enqueueGlobal_hook = enqueue;
    return 0;
}
