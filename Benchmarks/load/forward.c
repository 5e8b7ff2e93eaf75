// The least that a forwarder on one thread has to do: the limit that a proxy can reach on the machine at hand.
//
//   forward copy LISTEN UPSTREAM      receives into one buffer of 1 MiB that all connections share, and sends from it
//   forward splice LISTEN UPSTREAM    moves pages through a pipe of 1 MiB, borrowed while bytes are in it
//
// No faults, no limits, no time-outs, no statistics: it is a measure, not a proxy to use.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { bufferSize = 1 << 20, turns = 8, pooled = 256 };

struct pipe { int out, in; };

// One direction: from socket `from` to the other one of the connection.
struct direction {
    unsigned char readable, writable, hungUp, ended, shut;
    char *rest;            // copy: what the receiver did not take, from `begin` on
    size_t begin, left;    // splice: `left` bytes are in the pipe
    struct pipe pipe;
};

struct connection;
struct side { struct connection *connection; int index; };
struct connection {
    int sockets[2];
    struct side sides[2];
    struct direction directions[2];  // directions[i] takes from sockets[i]
    int closed, queued;
    struct connection *nextReady, *nextClosed;
};

static int epoll, listener, splices;
static struct sockaddr_in upstream;
static char *buffer;
static struct pipe pool[pooled];
static int poolCount;
static struct connection *ready, *buried;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void closePipe(struct pipe *pipe) {
    close(pipe->out);
    close(pipe->in);
    pipe->out = -1;
}

static void borrowPipe(struct direction *direction) {
    if (direction->pipe.out >= 0) return;
    if (poolCount) {
        direction->pipe = pool[--poolCount];
        return;
    }
    int ends[2];
    if (pipe2(ends, O_NONBLOCK | O_CLOEXEC)) fail("pipe");
    if (fcntl(ends[1], F_SETPIPE_SZ, bufferSize) < 0) fail("pipe size");
    direction->pipe = (struct pipe){.out = ends[0], .in = ends[1]};
}

// Only an empty pipe goes back to the others.
static void returnPipe(struct direction *direction) {
    if (direction->pipe.out < 0) return;
    if (direction->left || poolCount == pooled) closePipe(&direction->pipe);
    else pool[poolCount++] = direction->pipe;
    direction->pipe.out = -1;
}

static void end(struct connection *connection) {
    if (connection->closed) return;
    connection->closed = 1;
    for (int i = 0; i < 2; i++) {
        close(connection->sockets[i]);
        free(connection->directions[i].rest);
        returnPipe(&connection->directions[i]);
    }
    connection->nextClosed = buried;
    buried = connection;
}

// Bytes that moved, 0 at the end of the stream, -1 if nothing moves now, -2 if the connection is broken.
static ssize_t outcome(ssize_t result) { return result >= 0 ? result : errno == EAGAIN ? -1 : -2; }

static ssize_t take(struct direction *direction, int from) {
    if (splices) {
        borrowPipe(direction);
        return outcome(splice(from, NULL, direction->pipe.in, NULL, bufferSize, SPLICE_F_MOVE | SPLICE_F_NONBLOCK));
    }
    return outcome(recv(from, buffer, bufferSize, 0));
}

static ssize_t give(struct direction *direction, int to, const char *bytes) {
    if (splices)
        return outcome(splice(direction->pipe.out, NULL, to, NULL, direction->left, SPLICE_F_MOVE | SPLICE_F_NONBLOCK));
    return outcome(send(to, bytes, direction->left, MSG_NOSIGNAL));
}

// Hands over what is left, from `bytes` if it lies in the shared buffer. -2 if the connection is broken.
static int empty(struct direction *direction, int to, const char *bytes) {
    size_t given = 0;
    while (direction->left && direction->writable) {
        ssize_t moved = give(direction, to, bytes ? bytes + given : direction->rest + direction->begin);
        if (moved == -2) return -2;
        if (moved == -1) {
            direction->writable = 0;
        } else {
            direction->left -= (size_t)moved;
            if (bytes) given += (size_t)moved;
            else direction->begin += (size_t)moved;
        }
    }
    if (splices) return 0;
    if (bytes && direction->left) {
        direction->rest = malloc(direction->left);
        if (!direction->rest) fail("malloc");
        memcpy(direction->rest, bytes + given, direction->left);
        direction->begin = 0;
    } else if (!bytes && !direction->left) {
        free(direction->rest);
        direction->rest = NULL;
    }
    return 0;
}

// 1 if there is more to do in another turn, 0 if an event has to come first, -2 if the connection is broken.
static int run(struct connection *connection, int index) {
    struct direction *direction = &connection->directions[index];
    int from = connection->sockets[index], to = connection->sockets[1 - index];
    for (int turn = 0; turn < turns; turn++) {
        if (direction->left && empty(direction, to, NULL)) return -2;
        if (direction->left) return 0;
        if (direction->ended && !direction->shut) {
            direction->shut = 1;
            shutdown(to, SHUT_WR);
        }
        if (direction->ended || !direction->readable || !direction->writable) return 0;
        ssize_t taken = take(direction, from);
        if (taken == -2) return -2;
        if (taken == -1) direction->readable = 0;
        if (taken == 0) direction->ended = 1;
        // A short read has emptied the socket, and what comes later is told. An end may be behind it already.
        if (!splices && taken < bufferSize && !direction->hungUp) direction->readable = 0;
        if (taken > 0) direction->left = (size_t)taken;
        if (taken > 0 && empty(direction, to, buffer)) return -2;
    }
    return 1;
}

static void runBoth(struct connection *connection) {
    int more = 0;
    for (int i = 0; i < 2; i++) {
        int result = run(connection, i);
        if (result == -2) {
            end(connection);
            return;
        }
        more |= result;
        if (!connection->directions[i].left) returnPipe(&connection->directions[i]);
    }
    if (connection->directions[0].shut && connection->directions[1].shut) {
        end(connection);
    } else if (more && !connection->queued) {
        connection->queued = 1;
        connection->nextReady = ready;
        ready = connection;
    }
}

static int newSocket(void) {
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static void acceptConnections(void) {
    for (int turn = 0; turn < 64; turn++) {
        int one = 1, client = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (client < 0) return;
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        int server = newSocket();
        if (server < 0 || (connect(server, (struct sockaddr *)&upstream, sizeof upstream) && errno != EINPROGRESS)) {
            close(client);
            close(server);
            continue;
        }
        struct connection *connection = calloc(1, sizeof *connection);
        if (!connection) fail("calloc");
        for (int i = 0; i < 2; i++) {
            connection->sockets[i] = i ? server : client;
            connection->sides[i] = (struct side){connection, i};
            connection->directions[i].pipe.out = -1;
            struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                                        .data.ptr = &connection->sides[i]};
            epoll_ctl(epoll, EPOLL_CTL_ADD, connection->sockets[i], &event);
        }
    }
}

static void handle(struct epoll_event *event) {
    struct side *side = event->data.ptr;
    if (!side) {
        acceptConnections();
        return;
    }
    struct connection *connection = side->connection;
    if (connection->closed) return;
    if (event->events & ~(unsigned)EPOLLOUT) connection->directions[side->index].readable = 1;
    if (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) connection->directions[side->index].hungUp = 1;
    if (event->events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) connection->directions[1 - side->index].writable = 1;
    if (!connection->queued) runBoth(connection);
}

int main(int count, char **words) {
    if (count != 4 || (strcmp(words[1], "copy") && strcmp(words[1], "splice"))) {
        fputs("usage: forward copy|splice LISTEN UPSTREAM\n", stderr);
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    splices = !strcmp(words[1], "splice");
    buffer = malloc(bufferSize);
    if (!buffer) fail("malloc");
    upstream = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[3]))};
    upstream.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct sockaddr_in address = upstream;
    address.sin_port = htons((uint16_t)atoi(words[2]));
    int one = 1;
    listener = newSocket();
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096)) fail("listen");
    epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN}, events[256];
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event)) fail("epoll_ctl");
    for (;;) {
        int got = epoll_wait(epoll, events, 256, ready ? 0 : -1);
        struct connection *turn = ready;
        ready = NULL;
        for (int i = 0; i < got; i++) handle(&events[i]);
        while (turn) {
            struct connection *connection = turn;
            turn = turn->nextReady;
            connection->queued = 0;
            if (!connection->closed) runBoth(connection);
        }
        // Nobody who is closed is in the queue: who is queued is not run by an event.
        while (buried) {
            struct connection *connection = buried;
            buried = buried->nextClosed;
            free(connection);
        }
    }
}
