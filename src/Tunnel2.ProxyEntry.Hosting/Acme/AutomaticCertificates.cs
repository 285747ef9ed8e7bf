using System.Collections.Concurrent;
using System.Security.Cryptography;
using System.Threading.Channels;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Https;
using Tunnel2.ProxyEntry.Routing;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Acme;

/// <summary>
/// Gets certificates from an authority, for names of the settings and for names of tunnels that visitors ask for, and renews them. One task
/// does all of it, one name after another; a handshake only puts a name into its queue. <see cref="Find"/> is thread-safe.
/// </summary>
internal sealed partial class AutomaticCertificates : INamedCertificates, IAsyncDisposable
{
    /// <summary>How often the task looks what is due.</summary>
    public static readonly TimeSpan Period = TimeSpan.FromMinutes(1);

    private const int MaxWaiting = 1000;
    private const int AsksPerLook = 5;

    /// <summary>In the queue, it means a look at what is due.</summary>
    private const string Look = "";

    private static readonly TimeSpan _usualAsk = TimeSpan.FromHours(6);
    private static readonly TimeSpan _keptAfterEnd = TimeSpan.FromDays(7);

    private readonly AcmeSettings _settings;
    private readonly ISessionDirectory _directory;
    private readonly HostAddressParser _hosts;
    private readonly TimeProvider _time;
    private readonly ILogger _logger;
    private readonly AcmeStore _store;
    private readonly AcmeTransport _transport;
    private readonly ChallengeProver _prover;
    private readonly AcmeLimits _limits;
    private readonly HashSet<string> _listed;
    private readonly Channel<string> _queue = Channel.CreateBounded<string>(
        new BoundedChannelOptions(MaxWaiting) { SingleReader = true });

    private readonly ConcurrentDictionary<string, bool> _waiting = new(StringComparer.Ordinal);
    private readonly Lock _gate = new(); // Files are written with it held; no handshake takes it.
    private readonly ConcurrentDictionary<string, ManagedCertificate> _certificates = new(StringComparer.Ordinal);
    private readonly CancellationTokenSource _stop = new();
    private volatile CertificateIndex _index = CertificateIndex.Empty;
    private ITimer? _timer;
    private Task _task = Task.CompletedTask;
    private volatile Orderer _orderer;
    private int _lookWaits;
    private long _looks;

    /// <summary>Reads what is kept; nothing is ordered before <see cref="Start"/>.</summary>
    /// <param name="settings">The settings, with an authority.</param>
    /// <param name="directory">The tunnels.</param>
    /// <param name="challenges">Where the listeners find answers for the authority.</param>
    /// <param name="time">The clock.</param>
    /// <param name="logger">Where to log.</param>
    /// <param name="handler">Makes connections to the authority; null: as the settings want them.</param>
    /// <param name="shared">What the nodes of a cluster share; null: this process is alone.</param>
    /// <param name="leases">Which of them works on what; null: this process is alone.</param>
    /// <param name="locator">Where tunnels of other nodes are; null: there are none.</param>
    /// <exception cref="IOException">The state folder cannot be used.</exception>
    public AutomaticCertificates(
        ProxyEntrySettings settings,
        ISessionDirectory directory,
        PendingChallenges challenges,
        TimeProvider time,
        ILogger<AutomaticCertificates> logger,
        HttpMessageHandler? handler = null,
        ISharedDocuments? shared = null,
        ISharedLeases? leases = null,
        ISessionLocator? locator = null)
    {
        _settings = settings.Acme;
        _directory = directory;
        _hosts = new HostAddressParser(settings.Domain, settings.EntryId);
        _time = time;
        _logger = logger;
        _listed = [.. _settings.Names];
        _store = new AcmeStore(settings.StateFolder, _settings.Directory!);
        _limits = new AcmeLimits(_settings, _store, time, logger);
        _locator = locator;
        _transport = new AcmeTransport(handler ?? AcmeTransport.CreateHandler(_settings), time);
        var hook = _settings.DnsHook is { } program ? new DnsHook(program, _settings.DnsWait, time) : null;
        _isOfCluster = shared is not null;
        SharedChallenges? answers = null;
        if (shared is not null && leases is not null && settings.Cluster.Secret is { } common)
        {
            _sharing = new AcmeSharing(leases, new SharedSecret(common), _store.Id);
            answers = new SharedChallenges(leases, ChallengeProver.UsesTls(settings), time);
            challenges.Others = answers;
        }

        _prover = new ChallengeProver(settings, challenges, hook, time, answers);
        _orderer = CreateOrderer(_store.FindOrCreateKey());
        Load();
        if (_sharing is not null)
        {
            _copy = new SharedCopy(shared!, _sharing.Kind, AcmeSharing.Most, settings.StateFolder, this, logger);
        }
    }

    /// <inheritdoc/>
    public IReadOnlyList<CertificateFacts> First => _index.First;

    /// <inheritdoc/>
    public int Count => _index.Count;

    /// <inheritdoc/>
    public int Refused => _limits.Failing;

    /// <inheritdoc/>
    public IReadOnlyList<CertificateRefusal> Refusals => _limits.Refusals;

    /// <inheritdoc/>
    public string Origin => "automatic";

    /// <summary>How many names wait for their turn, or are being ordered.</summary>
    public int Waiting => _waiting.Count;

    /// <summary>How often the task has looked what is due.</summary>
    public long Looks => Volatile.Read(ref _looks);

    /// <summary>Begins to order and renew.</summary>
    public void Start()
    {
        ProxyEntryLog.AutomaticCertificates(_logger, _settings.Directory!.Host, Count, _store.Folder);
        if (_isOfCluster && _sharing is null)
        {
            ProxyEntryLog.CertificatesNotShared(_logger);
        }

        _task = RunAsync();
        _timer = _time.CreateTimer(
            static self => ((AutomaticCertificates)self!).OnTimer(), this, TimeSpan.Zero, _sharing is null ? Period : SharedPeriod);
    }

    /// <inheritdoc/>
    public ServerCertificate? Find(string name)
    {
        var now = _time.GetUtcNow();
        var found = _index.Find(name, now.UtcDateTime);
        if ((found is null || found.NotAfter <= now.UtcDateTime) && _settings.OnDemand && !IsLeftToWildcard(name)
            && !_waiting.ContainsKey(name) && IsInUse(name))
        {
            Enqueue(name);
        }

        return found;
    }

    /// <summary>Asks for a new certificate, which is ordered as soon as its turn comes. On any thread.</summary>
    /// <param name="name">The name in lower case.</param>
    /// <returns>False where the settings do not have the name, and it has no certificate.</returns>
    /// <exception cref="IOException">The state folder cannot be written.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not write there.</exception>
    public bool TryAskRenewal(string name)
    {
        if (!_listed.Contains(name) && !_store.LoadCertificates().Any(one => one.Name == name))
        {
            return false;
        }

        // By way of the folder, as another process does: only the task touches what it has.
        _store.AskRenewal(name);
        OnTimer();
        return true;
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await StopAsync().ConfigureAwait(false);
        _transport.Dispose();
        _copy?.Dispose();
        _orderer.Key.Dispose();
        _stop.Dispose();
    }

    /// <summary>Orders nothing from now on. An order that has begun is given up, and other nodes may begin it anew.</summary>
    public async Task StopAsync()
    {
        await _stop.CancelAsync().ConfigureAwait(false);
        if (_timer is { } timer)
        {
            await timer.DisposeAsync().ConfigureAwait(false);
        }

        await _task.ConfigureAwait(false);
    }

    private void Load()
    {
        foreach (var (name, pem) in _store.LoadCertificates())
        {
            try
            {
                _certificates[name] = new ManagedCertificate(NamedCertificate.Load(name, pem, pem), RenewalInfo.IdOf(pem));
            }
            catch (Exception exception) when (exception is CryptographicException or ArgumentException)
            {
                ProxyEntryLog.FolderCertificateRefused(_logger, name, exception.Message.ReplaceLineEndings(" "));
            }
        }

        _limits.Load();
        Build();
    }

    private Orderer CreateOrderer(AcmeKey key)
    {
        var eab = _settings is { EabKeyId: { } id, EabKey: { } secret } ? new AcmeEab(id, secret) : null;
        var client = new AcmeClient(_transport, _settings.Directory!, new AcmeAccount(key, _settings.Email, eab), _time);
        return new Orderer(key, client, new CertificateOrder(client, _prover, _time, () => Waiting > 1));
    }

    private void Build()
    {
        lock (_gate)
        {
            _index = CertificateIndex.Build(
                [.. _certificates.Values.Select(static one => one.Named)], _time.GetUtcNow().UtcDateTime);
        }
    }

    /// <summary>Whether a wildcard of the settings is for the name.</summary>
    private bool IsLeftToWildcard(string name)
    {
        var dot = name.IndexOf('.', StringComparison.Ordinal);
        return dot > 0 && _listed.Contains("*" + name[dot..]);
    }

    /// <summary>Whether a tunnel has the name now: for other names no visitor can make the server order.</summary>
    private bool IsInUse(string name)
    {
        Span<char> parsed = stackalloc char[DomainName.MaxLength];
        return TryRead(name, parsed, out var length)
            && (_directory.Find(parsed[..length], out _) == NameState.Online || _locator?.TryLocate(parsed[..length], out _) == true);
    }

    /// <summary>Whose tunnel has the name, at this node or another one; null: it is not known.</summary>
    private async ValueTask<string?> FindOwnerAsync(string name)
    {
        if (ReadName(name) is not { } parsed)
        {
            return null;
        }

        var digest = _directory.Find(parsed, out var session) == NameState.Online && session is not null ? session.Owner.ToDigest()
            : _locator is not null ? await _locator.FindOwnerAsync(parsed, _stop.Token).ConfigureAwait(false)
            : null;
        return digest is null ? null : CountedOrder.OwnerOf(digest);
    }

    private string? ReadName(string name)
    {
        Span<char> parsed = stackalloc char[DomainName.MaxLength];
        return TryRead(name, parsed, out var length) ? new string(parsed[..length]) : null;
    }

    /// <summary>Not one that only a wildcard covers: visitors could think of any number of those.</summary>
    private bool TryRead(string name, Span<char> parsed, out int length) => _hosts.Parse(name, parsed, out length) switch
    {
        HostAddressOutcome.Name => true,
        HostAddressOutcome.NotOurDomain => _hosts.TryReadDomain(name, parsed, out length),
        _ => false,
    };

    private void Enqueue(string name)
    {
        if (_limits.MayTry(name) && !IsBusyElsewhere(name) && _waiting.TryAdd(name, true) && !_queue.Writer.TryWrite(name))
        {
            // The next caller tries again.
            _waiting.TryRemove(name, out _);
        }
    }

    private void OnTimer()
    {
        if (Interlocked.Exchange(ref _lookWaits, 1) == 0 && !_queue.Writer.TryWrite(Look))
        {
            Volatile.Write(ref _lookWaits, 0);
        }
    }

    private async Task RunAsync()
    {
        try
        {
            await foreach (var name in _queue.Reader.ReadAllAsync(_stop.Token).ConfigureAwait(false))
            {
                try
                {
                    if (name == Look)
                    {
                        Volatile.Write(ref _lookWaits, 0);
                        await LookAsync().ConfigureAwait(false);
                        Interlocked.Increment(ref _looks);
                    }
                    else
                    {
                        await (_sharing is null ? ObtainAsync(name) : ObtainForAllAsync(name)).ConfigureAwait(false);
                    }
                }
                catch (Exception exception) when (exception is not OperationCanceledException || !_stop.IsCancellationRequested)
                {
                    // Of one name: the others still get theirs.
                    ProxyEntryLog.AutomaticCertificatesFault(_logger, name, exception);
                }
                finally
                {
                    _waiting.TryRemove(name, out _);
                }
            }
        }
        catch (OperationCanceledException)
        {
            // The server stops. An order that has begun is made again after the next start.
        }
    }

    private async Task LookAsync()
    {
        if (_sharing is not null)
        {
            await ShareAgainAsync().ConfigureAwait(false);
        }

        var now = _time.GetUtcNow();
        _limits.Forget(_listed.Contains);
        foreach (var name in _listed.Where(name => !_certificates.ContainsKey(name)))
        {
            Enqueue(name);
        }

        foreach (var name in _store.TakeRenewals())
        {
            Forgive(name);
            if (_certificates.TryGetValue(name, out var one))
            {
                one.RenewFrom(now);
                Enqueue(name);
            }
            else if (_listed.Contains(name))
            {
                Enqueue(name);
            }
        }

        var asks = 0;
        foreach (var (name, one) in _certificates.ToArray())
        {
            var isWanted = _listed.Contains(name) || (_settings.OnDemand && IsInUse(name));
            if (!isWanted && now - _keptAfterEnd > one.End)
            {
                await ForgetAsync(name).ConfigureAwait(false);
                continue;
            }

            if (isWanted && now >= one.AskAt && !_limits.IsPaused && asks++ < AsksPerLook)
            {
                await (_sharing is null ? AskWhenToRenewAsync(one, now) : AskForAllAsync(name, one, now)).ConfigureAwait(false);
            }

            if (isWanted && now >= one.RenewAt)
            {
                Enqueue(name);
            }
        }
    }

    private async Task AskWhenToRenewAsync(ManagedCertificate one, DateTimeOffset now)
    {
        one.AskAt = now + _usualAsk;
        try
        {
            var client = _orderer.Client;
            var directory = await client.GetDirectoryAsync(_stop.Token).ConfigureAwait(false);
            if (directory.RenewalInfo is not { } url || one.Id is not { } id)
            {
                return;
            }

            var answer = await client.GetAsync(new Uri($"{url.AbsoluteUri.TrimEnd('/')}/{id}"), _stop.Token).ConfigureAwait(false);
            var (start, end) = RenewalInfo.Read(answer);
            one.Suggest(start, end);
            one.AskAt = now + AcmeLimits.Limited(answer.RetryAfter ?? _usualAsk, TimeSpan.FromHours(1), TimeSpan.FromDays(1));
        }
        catch (AcmeException exception)
        {
            // Two thirds of its life still count.
            ProxyEntryLog.NoRenewalInformation(_logger, one.Named.Source, exception.Message);
        }
    }

    private async Task ObtainAsync(string name)
    {
        if (!IsDue(name, out var before))
        {
            return;
        }

        _limits.Forget(_listed.Contains);
        var isListed = _listed.Contains(name);
        var owner = isListed || before is not null ? null : await FindOwnerAsync(name).ConfigureAwait(false);
        if (_limits.TryOrder(name, _certificates.Count, isNew: before is null, isListed, owner) is null)
        {
            return;
        }

        try
        {
            var issued = await _orderer.Order.RunAsync(name, before?.Id, _stop.Token).ConfigureAwait(false);
            Use(name, issued);
            _limits.OnObtained(name);
        }
        catch (AcmeException exception)
        {
            _limits.OnFailed(name, exception);
        }
        catch (Exception exception) when (exception is not OperationCanceledException)
        {
            // An unexpected fault is a failure as others are: without a pause the name would be ordered again at each look.
            ProxyEntryLog.AutomaticCertificatesFault(_logger, name, exception);
            _limits.OnFailed(name, OwnFailure(exception));
        }
    }

    private static AcmeException OwnFailure(Exception exception) =>
        new($"the server failed by itself ({exception.GetType().Name})", cause: exception);

    private bool IsDue(string name, out ManagedCertificate? before)
    {
        _certificates.TryGetValue(name, out before);
        return !_limits.IsPaused && (before is null || _time.GetUtcNow() >= before.RenewAt);
    }

    private void Use(string name, IssuedCertificate issued)
    {
        var named = NamedCertificate.Load(name, issued.Chain, issued.Key);
        _certificates[name] = new ManagedCertificate(named, RenewalInfo.IdOf(issued.Chain));
        Build();
        ProxyEntryLog.CertificateObtained(_logger, name, _settings.Directory!.Host, named.Certificate.Until);
        Keep(name, issued);
    }

    private void Keep(string name, IssuedCertificate issued)
    {
        try
        {
            _store.Save(name, issued);
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            // It is used until the next start.
            ProxyEntryLog.CertificateNotKept(_logger, _store.Folder, exception.Message);
        }
    }

    /// <summary>Orders in the name of one account.</summary>
    private sealed record Orderer(AcmeKey Key, AcmeClient Client, CertificateOrder Order);
}
