using System.Text;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>What a request with gRPC looks like. Pure.</summary>
internal static class GrpcSyntax
{
    private static ReadOnlySpan<byte> MediaType => "application/grpc"u8;

    /// <summary>
    /// Whether a Content-Type is that of gRPC over HTTP/2: <c>application/grpc</c>, also with a format (<c>+proto</c>) or parameters.
    /// <c>application/grpc-web</c> is ordinary HTTP and is none.
    /// </summary>
    public static bool IsGrpc(ReadOnlySpan<byte> contentType) =>
        contentType.Length >= MediaType.Length
        && Ascii.EqualsIgnoreCase(contentType[..MediaType.Length], MediaType)
        && (contentType.Length == MediaType.Length || contentType[MediaType.Length] is (byte)'+' or (byte)';' or (byte)' ');
}
