// Round trips, and connections that wait for one.
#include "loadgen.h"

struct talker { int fd, got, waiting, hasWay; uint64_t sent, way; };
static unsigned char message[messageSize], answer[messageSize];
static struct samples trips, ways;

static void say(struct talker *talker, uint64_t time) {
    talker->sent = time;
    talker->got = 0;
    talker->waiting = 1;
    if (send(talker->fd, message, messageSize, MSG_NOSIGNAL) != messageSize) failErrno("send");
}

// Receives, and says how long ago it was sent when it came into the socket; 0 where that isn't known.
static ssize_t receiveWithWay(int fd, size_t count, int flags, uint64_t *way) {
    struct iovec piece = {.iov_base = answer, .iov_len = count};
    union { char bytes[CMSG_SPACE(sizeof(struct timespec))]; struct cmsghdr aligned; } control;
    struct msghdr head = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t got = recvmsg(fd, &head, flags);
    *way = 0;
    struct cmsghdr *told = got == messageSize ? CMSG_FIRSTHDR(&head) : NULL;
    if (!told || told->cmsg_level != SOL_SOCKET || told->cmsg_type != SCM_TIMESTAMPNS) return got;
    struct timespec came;
    memcpy(&came, CMSG_DATA(told), sizeof came);
    uint64_t sent, arrived = (uint64_t)came.tv_sec * 1000000000u + (uint64_t)came.tv_nsec;
    memcpy(&sent, answer, sizeof sent);
    if (sent <= arrived) *way = arrived - sent;
    return got;
}

// Whether the answer is complete.
static int hear(struct talker *talker, int flags) {
    while (talker->got < messageSize) {
        size_t left = (size_t)(messageSize - talker->got);
        ssize_t got = talker->hasWay ? receiveWithWay(talker->fd, left, flags, &talker->way)
                                     : recv(talker->fd, answer, left, flags);
        if (got < 0 && errno == EAGAIN) return 0;
        if (got <= 0) fail("a connection ended between two round trips");
        talker->got += (int)got;
    }
    talker->waiting = 0;
    return 1;
}

struct talk {
    struct talker *talkers;
    int count;
    uint64_t start, warm, until, interval, report, nextReport, step;
    long missed;
    double processor;
};

static void printTalk(struct talk *talk, uint64_t since, uint64_t time) {
    double seconds = (double)(time - since) / 1e9;
    printf("{\"seconds\":%.6f,\"rate\":%.1f,\"missed\":%ld,\"processor\":%.6f,", seconds,
           (double)trips.count / seconds, talk->missed, ownProcessorSeconds() - talk->processor);
    printSamples(&trips);
    if (ways.count) {
        fputs(",\"way\":{", stdout);
        printSamples(&ways);
        putchar('}');
    }
    puts("}");
    fflush(stdout);
}

static void heard(struct talk *talk, struct talker *talker, uint64_t time) {
    if (talker->sent < talk->warm) return;
    keep(&trips, time - talker->sent);
    if (talker->way) keep(&ways, talker->way);
}

static int inputEnded(void) {
    struct pollfd input = {.fd = 0, .events = POLLIN};
    char byte;
    return poll(&input, 1, 0) > 0 && read(0, &byte, 1) <= 0;
}

// Whether it is over; prints a report on the way if one is due.
static int talkIsOver(struct talk *talk, uint64_t time) {
    if (talk->report && time >= talk->nextReport) {
        printTalk(talk, talk->nextReport - talk->report, time);
        trips.count = ways.count = 0;
        talk->nextReport = time + talk->report;
    }
    return talk->until ? time >= talk->until : 0;
}

static void talkAlone(struct talk *talk) {
    uint64_t time = now();
    do {
        say(talk->talkers, time);
        hear(talk->talkers, 0);
        time = now();
        heard(talk, talk->talkers, time);
    } while (!talkIsOver(talk, time));
}

// Begins the round trips that are due, and says how long until the next, in nanoseconds.
static uint64_t beginDue(struct talk *talk) {
    for (;;) {
        uint64_t due = talk->start + talk->step * talk->interval / (uint64_t)talk->count, time = now();
        if (due > time) return due - time;
        struct talker *talker = &talk->talkers[talk->step++ % (uint64_t)talk->count];
        if (talker->waiting) talk->missed++;
        else say(talker, time);
    }
}

static void talkTogether(struct talk *talk) {
    for (int i = 0; i < talk->count; i++) {
        dontWait(talk->talkers[i].fd);
        watch(EPOLL_CTL_ADD, talk->talkers[i].fd, EPOLLIN, &talk->talkers[i]);
        if (!talk->interval) say(&talk->talkers[i], now());
    }
    uint64_t time, nextLook = 0;
    do {
        struct epoll_event events[256];
        uint64_t wait = talk->interval ? beginDue(talk) : 1000000000;
        if (wait > 100000000) wait = 100000000;
        struct timespec patience = {.tv_nsec = (long)wait};
        int ready = epoll_pwait2(epoll, events, 256, &patience, NULL);
        for (int i = 0; i < ready; i++) {
            struct talker *talker = events[i].data.ptr;
            if (!hear(talker, 0)) continue;
            time = now();
            heard(talk, talker, time);
            if (!talk->interval) say(talker, time);
        }
        time = now();
        if (!talk->until && time >= nextLook) {
            if (inputEnded()) break;
            nextLook = time + 50000000;
        }
    } while (!talkIsOver(talk, time));
}

int rounds(int port, int count, double seconds, uint64_t interval, uint64_t report, int withWay) {
    if (seconds > 0) giveUpAfter(seconds + 60);
    else prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct talk talk = {.count = count, .interval = interval * 1000, .report = report * 1000000};
    talk.talkers = calloc((size_t)count, sizeof *talk.talkers);
    for (int i = 0; i < count; i++) {
        talk.talkers[i].fd = dial(port);
        talk.talkers[i].hasWay = withWay;
        if (withWay && setsockopt(talk.talkers[i].fd, SOL_SOCKET, SO_TIMESTAMPNS, &withWay, sizeof withWay))
            failErrno("setsockopt");
        if (ask(talk.talkers[i].fd, withWay ? 'T' : 'E', 0)) failErrno("send");
        if (i % 64 == 63) usleep(5000);
    }
    usleep(20000);
    memset(message, 'm', sizeof message);
    talk.start = now();
    talk.warm = talk.start + (uint64_t)((seconds > 1 ? 0.2 : 0.2 * seconds) * 1e9);
    talk.until = seconds > 0 ? talk.warm + (uint64_t)(seconds * 1e9) : 0;
    talk.nextReport = talk.start + talk.report;
    talk.processor = ownProcessorSeconds();
    if (!seconds) puts("open"), fflush(stdout);
    if (count == 1 && !interval && seconds > 0) talkAlone(&talk);
    else talkTogether(&talk);
    if (!talk.report) printTalk(&talk, talk.warm, now());
    return 0;
}

int idle(int port, int count) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int *fds = malloc((size_t)count * sizeof *fds), asked = 0;
    memset(message, 'm', sizeof message);
    for (int i = 0; i < count; i++) {
        fds[i] = dial(port);
        if (i % 64 == 63) usleep(8000);
    }
    printf("open %d\n", count);
    fflush(stdout);
    char line[16];
    while (fgets(line, sizeof line, stdin)) {
        int answers = 0;
        if (!strcmp(line, "close\n")) {
            for (int i = 0; i < count; i++) close(fds[i]);
            puts("closed");
        } else if (!strcmp(line, "use\n")) {
            for (int i = 0; i < count; i++) {
                struct talker talker = {.fd = fds[i]};
                if (!asked && ask(fds[i], 'E', 0)) failErrno("send");
                say(&talker, 0);
                answers += hear(&talker, 0);
            }
            asked = 1;
            printf("used %d\n", answers);
        } else {
            break;
        }
        fflush(stdout);
    }
    return 0;
}
