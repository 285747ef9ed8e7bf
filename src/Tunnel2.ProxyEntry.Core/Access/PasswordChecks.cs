namespace Tunnel2.ProxyEntry.Access;

/// <summary>
/// Computes slow hashes on the pool: at most half of the processors do so at once, and at most some wait. So wrong logins cannot take the
/// machine from requests. Thread-safe.
/// </summary>
internal sealed class PasswordChecks : IDisposable
{
    /// <summary>How many checks run or wait.</summary>
    private const int Most = 64;

    private readonly SemaphoreSlim _places = new(Math.Max(1, Environment.ProcessorCount / 2));
    private int _count;

    /// <summary>Runs a check.</summary>
    /// <param name="check">The check, which runs on the pool.</param>
    /// <returns>Its result; null: too many run or wait.</returns>
    public Task<bool>? TryRun(Func<bool> check)
    {
        if (Interlocked.Increment(ref _count) <= Most)
        {
            return RunAsync(check);
        }

        Interlocked.Decrement(ref _count);
        return null;
    }

    /// <inheritdoc/>
    public void Dispose() => _places.Dispose();

    private async Task<bool> RunAsync(Func<bool> check)
    {
        try
        {
            await _places.WaitAsync().ConfigureAwait(false);
            try
            {
                return await Task.Run(check).ConfigureAwait(false);
            }
            finally
            {
                _places.Release();
            }
        }
        finally
        {
            Interlocked.Decrement(ref _count);
        }
    }
}
