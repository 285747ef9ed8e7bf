using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.InMemory;

/// <summary>A service that closes a connection without an answer, except to what it speaks.</summary>
internal static class SilentService
{
    private static readonly byte[] _handshakeRefused = [0x15, 3, 3, 0, 2, 2, 40];
    private static readonly byte[] _emptySettings = [0, 0, 0, 4, 0, 0, 0, 0, 0];

    /// <param name="speaksTls">Whether it answers a TLS handshake, if only to refuse it.</param>
    /// <param name="speaksHttp2">Whether it answers the preface of HTTP/2.</param>
    /// <param name="options">What it answers to OPTIONS; null: nothing.</param>
    public static RawTcpServer Start(bool speaksTls = false, bool speaksHttp2 = false, string? options = null) =>
        RawTcpServer.Start(async connection =>
        {
            switch ((await connection.ReadExactlyAsync(1))[0])
            {
                case 0x16 when speaksTls:
                    await connection.WriteAsync(_handshakeRefused);
                    await connection.ShutdownSendAsync();
                    await connection.WaitForEndAsync();
                    break;
                case (byte)'P' when speaksHttp2:
                    await connection.WriteAsync(_emptySettings);
                    await connection.ShutdownSendAsync();
                    await connection.WaitForEndAsync();
                    break;
                case (byte)'O' when options is not null:
                    await connection.WriteAsync(options);
                    await connection.ShutdownSendAsync();
                    await connection.WaitForEndAsync();
                    break;
                default:
                    break;
            }
        });
}
