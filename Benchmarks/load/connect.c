// New connections.
#include "loadgen.h"

struct attempt { int fd, asked, answered; enum ending ending; uint64_t start; };

static struct samples latencies;

static int askAttempt(struct attempt *attempt) {
    unsigned char request[requestSize] = {'P'};
    uint64_t number = attempt->ending == byServer;
    memcpy(request + 8, &number, 8);
    attempt->asked = send(attempt->fd, request, sizeof request, MSG_NOSIGNAL) == (ssize_t)sizeof request;
    return attempt->asked || errno == EAGAIN || errno == ENOTCONN ? 0 : -1;
}

static int beginAttempt(struct attempt *attempt, int port, long number, enum ending ending, int addresses) {
    struct sockaddr_in to = loopback(INADDR_LOOPBACK, port);
    *attempt = (struct attempt){.fd = newSocket(SOCK_NONBLOCK), .start = now()};
    attempt->ending = ending == mixed ? (enum ending)(number % 3) : ending;
    if (addresses > 1) {
        struct sockaddr_in from = loopback(INADDR_LOOPBACK + 1 + (uint32_t)(number % addresses), 0);
        int one = 1;
        setsockopt(attempt->fd, SOL_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
        if (bind(attempt->fd, (struct sockaddr *)&from, sizeof from)) failErrno("bind");
    }
    if (connect(attempt->fd, (struct sockaddr *)&to, sizeof to) && errno != EINPROGRESS) return -1;
    if (askAttempt(attempt)) return -1;
    watch(EPOLL_CTL_ADD, attempt->fd, attempt->asked ? EPOLLIN : EPOLLOUT, attempt);
    return 0;
}

// 0: goes on, 1: done, -1: failed.
static int continueAttempt(struct attempt *attempt) {
    if (!attempt->asked) {
        if (askAttempt(attempt)) return -1;
        if (attempt->asked) watch(EPOLL_CTL_MOD, attempt->fd, EPOLLIN, attempt);
        return 0;
    }
    char answer;
    ssize_t got = recv(attempt->fd, &answer, 1, 0);
    if (got < 0) return errno == EAGAIN ? 0 : -1;
    if (got == 0) return attempt->answered ? 1 : -1;
    attempt->answered = 1;
    keep(&latencies, now() - attempt->start);
    return attempt->ending != byServer;
}

static void endAttempt(struct attempt *attempt) {
    struct linger atOnce = {.l_onoff = 1};
    if (attempt->ending == byReset) setsockopt(attempt->fd, SOL_SOCKET, SO_LINGER, &atOnce, sizeof atOnce);
    close(attempt->fd);
    attempt->fd = -1;
}

int connections(int port, int workers, long count, enum ending ending, int addresses) {
    giveUpAfter(60 + (double)count / 500);
    struct attempt *attempts = calloc((size_t)workers, sizeof *attempts);
    for (int i = 0; i < workers; i++) attempts[i].fd = -1;
    long begun = 0, open = 0, done = 0, failed = 0;
    uint64_t start = now();
    double processor = ownProcessorSeconds();
    while (done + failed < count) {
        for (int i = 0; i < workers && open < workers && begun < count; i++) {
            if (attempts[i].fd >= 0) continue;
            if (beginAttempt(&attempts[i], port, begun++, ending, addresses) == 0) open++;
            else failed++, endAttempt(&attempts[i]);
        }
        if (!open) continue;
        struct epoll_event events[64];
        int ready = epoll_wait(epoll, events, 64, -1);
        for (int i = 0; i < ready; i++) {
            struct attempt *attempt = events[i].data.ptr;
            int over = continueAttempt(attempt);
            if (!over) continue;
            if (over > 0) done++;
            else failed++;
            endAttempt(attempt);
            open--;
        }
    }
    double took = (double)(now() - start) / 1e9;
    printf("{\"done\":%ld,\"failed\":%ld,\"seconds\":%.6f,\"processor\":%.6f,", done, failed, took,
           ownProcessorSeconds() - processor);
    printSamples(&latencies);
    puts("}");
    return 0;
}
