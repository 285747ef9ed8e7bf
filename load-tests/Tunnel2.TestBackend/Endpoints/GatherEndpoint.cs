using System.Text;

namespace Tunnel2.TestBackend.Endpoints;

/// <summary>
/// <c>/gather/N?id=X</c>: answers no request before N of that id are there at the same time. With <c>begins=1</c> the answer begins with a
/// line at once, and only its end waits.
/// </summary>
internal static class GatherEndpoint
{
    private static readonly Lock _lock = new();
    private static readonly Dictionary<(long Count, string Id), Gathering> _open = [];

    public static async Task HandleAsync(HttpContext context, long count)
    {
        var query = context.Request.Query;
        var name = query["name"].ToString();
        var key = (count, query["id"].ToString());
        Gathering? gathering;
        lock (_lock)
        {
            if (!_open.TryGetValue(key, out gathering))
            {
                _open[key] = gathering = new Gathering();
            }

            if (++gathering.Present >= count)
            {
                // The next one of this id begins another gathering.
                _open.Remove(key);
                gathering.Complete.SetResult();
            }
        }

        var begins = context.Request.IsOn("begins");
        var writer = context.Response.BodyWriter;
        try
        {
            if (begins)
            {
                context.Response.ContentType = "text/plain";
                await writer.WriteAsync("waiting\n"u8.ToArray(), context.RequestAborted);
            }

            await gathering.Complete.Task.WaitAsync(context.RequestAborted);
        }
        catch (OperationCanceledException)
        {
            Leave(key, gathering);
            throw;
        }

        if (begins)
        {
            await writer.WriteAsync(Encoding.UTF8.GetBytes(name), context.RequestAborted);
            return;
        }

        await BackendHandler.AnswerTextAsync(context, StatusCodes.Status200OK, name);
    }

    /// <summary>Who has gone is not there any more, and an empty gathering is kept nowhere.</summary>
    private static void Leave((long Count, string Id) key, Gathering gathering)
    {
        lock (_lock)
        {
            if (--gathering.Present == 0 && _open.TryGetValue(key, out var open) && open == gathering)
            {
                _open.Remove(key);
            }
        }
    }

    private sealed class Gathering
    {
        public int Present { get; set; }

        public TaskCompletionSource Complete { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);
    }
}
