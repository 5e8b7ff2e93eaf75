import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.nio.charset.StandardCharsets;

/** Fetches a file by Netty; the exit code is 0 if as many bytes come as are asked for. */
public final class NettyClient {
    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[0]);
        long size = Long.parseLong(arguments[1]);
        long[] received = {0};
        NioEventLoopGroup group = new NioEventLoopGroup(1);
        try {
            Bootstrap bootstrap = new Bootstrap().group(group).channel(NioSocketChannel.class).handler(new ChannelInboundHandlerAdapter() {
                @Override
                public void channelActive(ChannelHandlerContext context) {
                    context.writeAndFlush(Unpooled.copiedBuffer("GET /file.bin HTTP/1.0\r\n\r\n", StandardCharsets.US_ASCII));
                }

                @Override
                public void channelRead(ChannelHandlerContext context, Object message) {
                    ByteBuf bytes = (ByteBuf) message;
                    received[0] += bytes.readableBytes();
                    bytes.release();
                }

                @Override
                public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
                    context.close();
                }
            });
            bootstrap.connect("127.0.0.1", port).sync().channel().closeFuture().sync();
        } finally {
            group.shutdownGracefully(0, 1, java.util.concurrent.TimeUnit.SECONDS);
        }
        System.exit(received[0] >= size ? 0 : 1);
    }
}
