// The server behind every proxy: source, sink and echo. The requests are told in loadgen.h.
#include "loadgen.h"

struct peer {
    int fd;
    char letter;             // what was asked, 0 before the first request
    uint8_t have, watching;  // bytes of a request; whether room to send is watched
    unsigned char request[requestSize];
    uint64_t owed, every, dropped;
};

static int serveRequest(struct peer *peer) {
    uint64_t number;
    memcpy(&number, peer->request + 8, 8);
    peer->have = 0;
    peer->letter = (char)peer->request[0];
    switch (peer->letter) {
    case 'S': peer->owed += number; return 0;
    case 'D': peer->every = number ? number : 1; return 0;
    case 'E':
    case 'T': return 0;
    case 'P':
        if (sendAll(peer->fd, "k", 1)) return -1;
        return number == 1 ? -1 : 0;
    default: return -1;
    }
}

// A message that comes in pieces is sent back as it is.
static void tellTime(unsigned char *bytes, size_t count) {
    uint64_t time = nanosecondsSince1970();
    for (size_t place = 0; place + messageSize <= count && count % messageSize == 0; place += messageSize)
        memcpy(bytes + place, &time, sizeof time);
}

// What a connection has received: -1 ends it, 0 means that nothing is left.
static int receiveForPeer(struct peer *peer) {
    for (int turn = 0; turn < 8; turn++) {
        ssize_t got;
        if (peer->letter == 'D') {
            got = recv(peer->fd, buffer, bufferSize, MSG_TRUNC);
            if (got > 0) {
                uint64_t before = peer->dropped / peer->every;
                peer->dropped += (uint64_t)got;
                for (uint64_t due = peer->dropped / peer->every - before; due; due--)
                    if (sendAll(peer->fd, "k", 1)) return -1;
            }
        } else if (peer->letter == 'E' || peer->letter == 'T') {
            static unsigned char message[64 << 10];
            got = recv(peer->fd, message, sizeof message, 0);
            if (got > 0 && peer->letter == 'T') tellTime(message, (size_t)got);
            if (got > 0 && sendAll(peer->fd, message, (size_t)got)) return -1;
            if (got > 0 && got < (ssize_t)sizeof message) return 0;
        } else {
            got = recv(peer->fd, peer->request + peer->have, requestSize - peer->have, 0);
            if (got > 0) {
                peer->have += (uint8_t)got;
                if (peer->have == requestSize && serveRequest(peer)) return -1;
                if (peer->letter == 'P') return 0;
            }
        }
        if (got == 0) return -1;
        if (got < 0) return errno == EAGAIN ? 0 : -1;
    }
    return 0;
}

static int sendForPeer(struct peer *peer) {
    int full = 0;
    for (int turn = 0; turn < 8 && peer->owed && !full; turn++) {
        ssize_t sent = sendSome(peer->fd, peer->owed);
        if (sent < 0 && errno != EAGAIN) return -1;
        if (sent < 0) full = 1;
        else peer->owed -= (uint64_t)sent;
    }
    if ((peer->owed > 0) != peer->watching) {
        peer->watching = peer->owed > 0;
        watch(EPOLL_CTL_MOD, peer->fd, EPOLLIN | (peer->watching ? EPOLLOUT : 0), peer);
    }
    return 0;
}

static void acceptPeers(int listener) {
    for (int turn = 0; turn < 64; turn++) {
        int one = 1, fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct peer *peer = calloc(1, sizeof *peer);
        if (!peer) failErrno("calloc");
        peer->fd = fd;
        watch(EPOLL_CTL_ADD, fd, EPOLLIN, peer);
    }
}

void backend(int port) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct sockaddr_in address = loopback(INADDR_LOOPBACK, port);
    int one = 1, listener = newSocket(SOCK_NONBLOCK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096)) failErrno("listen");
    watch(EPOLL_CTL_ADD, listener, EPOLLIN, NULL);
    puts("ready");
    fflush(stdout);
    for (;;) {
        struct epoll_event events[256];
        int count = epoll_wait(epoll, events, 256, -1);
        for (int i = 0; i < count; i++) {
            struct peer *peer = events[i].data.ptr;
            if (!peer) {
                acceptPeers(listener);
                continue;
            }
            int over = 0;
            if (events[i].events & ~(uint32_t)EPOLLOUT) over = receiveForPeer(peer);
            if (!over && peer->letter == 'S') over = sendForPeer(peer);
            if (over) {
                close(peer->fd);
                free(peer);
            }
        }
    }
}
