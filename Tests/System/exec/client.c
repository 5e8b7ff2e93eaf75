// Fetches http://127.0.0.1:PORT/file.bin and exits with 0 if all of its bytes came.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int count, char **words) {
    if (count < 3) return 2;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(words[1]))};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    int made = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(made, (struct sockaddr *)&address, sizeof address) != 0) return perror("connect"), 1;
    const char *request = "GET /file.bin HTTP/1.0\r\n\r\n";
    if (write(made, request, strlen(request)) < 0) return perror("write"), 1;
    static char bytes[65536];
    long whole = 0;
    ssize_t part;
    while ((part = read(made, bytes, sizeof bytes)) > 0) whole += part;
    if (part < 0) return perror("read"), 1;
    return whole > atol(words[2]) ? 0 : 1;
}
