using System.Security.Cryptography;
using System.Text.Json;

namespace Tunnel2.TestBackend.Endpoints;

/// <summary><c>/sink</c> and <c>/slow-sink</c>: read the body to its end and say what it was.</summary>
internal static class SinkEndpoint
{
    /// <summary>A slow reader takes its bytes in this many steps a second.</summary>
    private const int StepsPerSecond = 20;

    public static Task HandleAsync(HttpContext context) => ReadAndAnswerAsync(context, bytesPerSecond: null);

    public static Task HandleSlowlyAsync(HttpContext context) =>
        ReadAndAnswerAsync(context, Math.Max(1, context.Request.GetNumber("rate", 1024)));

    /// <summary>Reads the body to its end and answers with its length and, if asked for, its SHA-256.</summary>
    public static async Task ReadAndAnswerAsync(HttpContext context, long? bytesPerSecond)
    {
        using var hash = context.Request.IsOn("hash") ? IncrementalHash.CreateHash(HashAlgorithmName.SHA256) : null;
        var bytes = await ReadAsync(context, hash, bytesPerSecond);
        var digest = hash is null ? null : Convert.ToHexStringLower(hash.GetHashAndReset());
        await BackendHandler.AnswerAsync(
            context, StatusCodes.Status200OK, "application/json",
            JsonSerializer.SerializeToUtf8Bytes(new SinkResult(bytes, digest), BackendJson.Default.SinkResult));
    }

    private static async Task<long> ReadAsync(HttpContext context, IncrementalHash? hash, long? bytesPerSecond)
    {
        var reader = context.Request.BodyReader;
        var schedule = new Schedule();
        var step = bytesPerSecond is { } rate ? Math.Max(1, rate / StepsPerSecond) : long.MaxValue;
        long total = 0;
        while (true)
        {
            var read = await reader.ReadAsync();
            var taken = read.Buffer.Slice(0, Math.Min(step, read.Buffer.Length));
            if (hash is not null)
            {
                foreach (var segment in taken)
                {
                    hash.AppendData(segment.Span);
                }
            }

            total += taken.Length;
            var isAll = taken.Length == read.Buffer.Length;
            // Nothing is marked as examined beyond what was taken, so that the next read returns the rest at once.
            reader.AdvanceTo(taken.End);
            if (read.IsCompleted && isAll)
            {
                return total;
            }

            if (bytesPerSecond is { } limit)
            {
                await schedule.WaitUntilAsync(TimeSpan.FromSeconds((double)total / limit), context.RequestAborted);
            }
        }
    }
}
