using System.Text;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>A backend that shows what reached it: the body of each answer is the request, head and body, byte for byte.</summary>
internal static class Mirror
{
    public static async Task ServeAsync(RawConnection connection)
    {
        while (true)
        {
            var head = await connection.ReadHeadAsync();
            var body = await connection.ReadBodyAsync(head, head.Method);
            var answer = head.Text + Encoding.Latin1.GetString(body.Bytes);
            await connection.WriteAsync(
                $"HTTP/1.1 200 OK\r\nContent-Length: {answer.Length}\r\n\r\n{(head.Method == "HEAD" ? "" : answer)}");
        }
    }

    /// <summary>The request that the mirror showed.</summary>
    public static RawHttpHead Request(this RawHttpBody body) =>
        new(body.Text()[..(body.Text().IndexOf("\r\n\r\n", StringComparison.Ordinal) + 4)]);

    /// <summary>The request's body that the mirror showed.</summary>
    public static string RequestBody(this RawHttpBody body) =>
        body.Text()[(body.Text().IndexOf("\r\n\r\n", StringComparison.Ordinal) + 4)..];

    /// <summary>The body as Latin-1.</summary>
    public static string Text(this RawHttpBody body) => Encoding.Latin1.GetString(body.Bytes);
}
