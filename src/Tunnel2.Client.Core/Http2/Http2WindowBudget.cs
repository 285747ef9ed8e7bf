namespace Tunnel2.Client.Core.Http2;

/// <summary>
/// The bytes by which the windows of all HTTP/2 streams of an agent may grow together beyond their first size: what they may hold for
/// visitors who suddenly take nothing. Thread-safe.
/// </summary>
internal sealed class Http2WindowBudget
{
    /// <summary>The default: 64 MiB.</summary>
    public const int DefaultLimit = 64 * 1024 * 1024;

    private long _left;

    public Http2WindowBudget(long limit = DefaultLimit)
    {
        _left = limit;
    }

    /// <summary>Takes bytes.</summary>
    /// <returns>False when there are not as many.</returns>
    public bool TryTake(int bytes)
    {
        if (Interlocked.Add(ref _left, -bytes) >= 0)
        {
            return true;
        }

        Interlocked.Add(ref _left, bytes);
        return false;
    }

    /// <summary>Gives bytes back.</summary>
    public void Return(int bytes) => Interlocked.Add(ref _left, bytes);
}
