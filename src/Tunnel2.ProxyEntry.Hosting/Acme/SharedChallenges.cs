using System.Collections.Concurrent;
using System.Text;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Https;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Acme;

/// <summary>
/// The answers of all nodes of a cluster to certificate authorities. The node that orders puts its answer into the database before it asks
/// the authority to come, and waits for longer than others remember that there was none: so the visit finds it at any node. Thread-safe.
/// </summary>
/// <param name="leases">The database.</param>
/// <param name="usesTls">Whether authorities are shown names over TLS.</param>
/// <param name="time">The clock.</param>
internal sealed class SharedChallenges(ISharedLeases leases, bool usesTls, TimeProvider time) : IOtherChallenges
{
    /// <summary>What the database calls them.</summary>
    public const string Kind = "acme-answers";

    /// <summary>For how long a node remembers an answer, or that there is none: so often it asks for one name at most.</summary>
    public static readonly TimeSpan Remembered = TimeSpan.FromMilliseconds(200);

    /// <summary>How many questions a node asks in a second, for all names. Further ones are answered as if there were nothing.</summary>
    public const int MostPerSecond = 200;

    private const int MostRemembered = 1000;

    /// <summary>An order that takes longer is given up.</summary>
    private static readonly TimeSpan _life = CertificateOrder.Limit + TimeSpan.FromMinutes(1);

    private readonly ConcurrentDictionary<string, Question> _questions = new(StringComparer.Ordinal);
    private long _second;
    private int _asked;

    /// <inheritdoc/>
    public bool UsesTls => usesTls;

    /// <summary>The key of an answer over HTTP: one for each name, so that other tokens cannot be tried out at the database.</summary>
    public static string HttpKey(string name) => "http " + name;

    /// <summary>The key of an answer over TLS.</summary>
    public static string TlsKey(string name) => "tls " + name;

    /// <summary>Shows an answer to all nodes. When the task ends, none of them remembers that there was none.</summary>
    /// <exception cref="SharedUnavailableException">The database is not available.</exception>
    public async Task ShowAsync(string key, byte[] value, CancellationToken cancellationToken)
    {
        await leases.PlaceAsync(Kind, key, value, _life, cancellationToken).ConfigureAwait(false);
        await Task.Delay(Remembered + Remembered, time, cancellationToken).ConfigureAwait(false);
    }

    /// <summary>The visit is over.</summary>
    public async Task HideAsync(string key, byte[] value)
    {
        try
        {
            await leases.ReleaseAsync(Kind, key, value, CancellationToken.None).ConfigureAwait(false);
        }
        catch (SharedUnavailableException)
        {
            // It ends by itself.
        }
    }

    /// <inheritdoc/>
    public async ValueTask<byte[]?> FindHttpAsync(string name, string token)
    {
        var value = await AskAsync(HttpKey(name)).ConfigureAwait(false);
        return value is not null && value.Length > token.Length && value[token.Length] == '\n'
            && Encoding.ASCII.GetString(value, 0, token.Length) == token
            ? value[(token.Length + 1)..]
            : null;
    }

    /// <inheritdoc/>
    public async ValueTask<ServerCertificate?> FindTlsAsync(string name) =>
        await AskAsync(TlsKey(name)).ConfigureAwait(false) is { } answer
            ? ChallengeProver.CreateCertificate(name, Encoding.ASCII.GetString(answer), time.GetUtcNow())
            : null;

    private Task<byte[]?> AskAsync(string key)
    {
        if (_questions.TryGetValue(key, out var known) && time.GetElapsedTime(known.Asked) < Remembered)
        {
            return known.Answer.Value;
        }

        if (key.Length > 300 || !TakePlace())
        {
            return Task.FromResult<byte[]?>(null);
        }

        if (_questions.Count >= MostRemembered)
        {
            _questions.Clear();
        }

        // Those who come at once share a question; the clock starts before it, so that no answer is older than is promised.
        var question = new Question(time.GetTimestamp(), new Lazy<Task<byte[]?>>(() => FindAsync(key)));
        var current = _questions.AddOrUpdate(
            key, static (_, mine) => mine.Question,
            static (_, other, mine) => mine.Time.GetElapsedTime(other.Asked) < Remembered ? other : mine.Question,
            (Question: question, Time: time));
        return current.Answer.Value;
    }

    private async Task<byte[]?> FindAsync(string key)
    {
        try
        {
            return await leases.FindAsync(Kind, key, CancellationToken.None).ConfigureAwait(false);
        }
        catch (SharedUnavailableException)
        {
            return null;
        }
    }

    private bool TakePlace()
    {
        var second = time.GetTimestamp() / time.TimestampFrequency;
        if (Interlocked.Exchange(ref _second, second) != second)
        {
            Volatile.Write(ref _asked, 0);
        }

        return Interlocked.Increment(ref _asked) <= MostPerSecond;
    }

    private sealed record Question(long Asked, Lazy<Task<byte[]?>> Answer);
}
