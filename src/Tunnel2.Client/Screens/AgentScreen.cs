using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Terminals;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Screens;

/// <summary>
/// The live screen of one tunnel. Events come from the writer's task (<see cref="AgentEventWriter"/>), which no thread of the data plane
/// waits for; keys and frames from the screen's thread. Thread-safe.
/// </summary>
internal sealed class AgentScreen : IScreenContent, IAgentEventFormatter
{
    private readonly AgentScreenState _state = new();
    private readonly Lock _gate = new();
    private readonly IAgentEventFormatter _lines;
    private readonly string _server;
    private readonly CurlHint _hint;
    private readonly AccessRules? _access;
    private readonly TimeProvider _time;
    private readonly bool _hasColors;
    private readonly Func<string, CancellationToken, Task<bool>> _resolves;
    private AgentScreenPage _page;
    private long _version;

    /// <param name="options">The tunnel.</param>
    /// <param name="lines">Writes what has to be read after the screen is gone.</param>
    /// <param name="time">The clock.</param>
    /// <param name="hasColors">Whether colours may be used.</param>
    /// <param name="resolves">Whether a host name has an address; <see cref="NameResolution.ResolvesAsync"/> unless a test says
    /// otherwise.</param>
    public AgentScreen(
        AgentOptions options,
        IAgentEventFormatter lines,
        TimeProvider time,
        bool hasColors,
        Func<string, CancellationToken, Task<bool>>? resolves = null)
    {
        _lines = lines;
        _server = options.Server.ToString();
        _hint = new CurlHint(options.Server, options.Tls, options.Access);
        _access = options.Access;
        _time = time;
        _hasColors = hasColors;
        _resolves = resolves ?? NameResolution.ResolvesAsync;
    }

    /// <inheritdoc/>
    public long Version => Interlocked.Read(ref _version);

    /// <summary>Whether the terminal shows this; otherwise events become lines. Null: it does.</summary>
    public Func<bool>? IsShown { get; set; }

    /// <inheritdoc/>
    public void OnKey(ScreenKey key)
    {
        lock (_gate)
        {
            _page = _page != AgentScreenPage.Requests ? AgentScreenPage.Requests
                : key is { Kind: ScreenKeyKind.Character, Character: 'q' or 'Q' } ? AgentScreenPage.QrCode
                : key is { Kind: ScreenKeyKind.Character, Character: '?' or 'h' } ? AgentScreenPage.Help
                : _page;
            _version++;
        }
    }

    /// <inheritdoc/>
    public IReadOnlyList<ScreenRow> Render(int columns, int rows)
    {
        lock (_gate)
        {
            return AgentScreenView.Render(_state, _page, _server, columns, rows, _time, _hasColors);
        }
    }

    /// <inheritdoc/>
    public async ValueTask WriteAsync(AgentEvent agentEvent, TextWriter output, CancellationToken cancellationToken)
    {
        bool hasPlace;
        lock (_gate)
        {
            hasPlace = _state.Apply(agentEvent);
            _state.Warning = agentEvent is ReadyEvent { PublicUrls: var urls } ? VisitorWarning.Of(_access, urls) : _state.Warning;
            _version++;
        }

        if (IsShown is { } isShown && !isShown())
        {
            await _lines.WriteAsync(agentEvent, output, cancellationToken).ConfigureAwait(false);
            return;
        }

        if (!hasPlace)
        {
            using var line = new StringWriter();
            await _lines.WriteAsync(agentEvent, line, cancellationToken).ConfigureAwait(false);
            if (line.ToString().Trim() is { Length: > 0 } text)
            {
                lock (_gate)
                {
                    _state.Note(agentEvent.Time, text);
                    _version++;
                }
            }
        }

        if (agentEvent is ReadyEvent ready
            && _hint.For(ready.PublicUrls) is { } hint
            && Uri.TryCreate(ready.PublicUrls[0], UriKind.Absolute, out Uri? main)
            && !await _resolves(main.Host, cancellationToken).ConfigureAwait(false))
        {
            lock (_gate)
            {
                _state.Hint = Protocol.PlainText.Clean(hint);
                _version++;
            }
        }
    }

    /// <summary>What a person wants to read after the screen is gone: where it was, why it ended, and how much came.</summary>
    public IReadOnlyList<string> Summary()
    {
        lock (_gate)
        {
            List<string> lines = [.. _state.Urls.Select(url => $"Forwarding {url} -> {_state.Upstream}")];
            if (_state.Trouble is { } trouble)
            {
                lines.Add(trouble);
            }

            if (_state.Requests > 0)
            {
                lines.Add(ScreenFigures.Text(
                    $"{ScreenFigures.Count(_state.Requests, "request", "requests")}, {_state.Failed:N0} failed"));
            }

            if (_state.Status == AgentStatus.Stopped)
            {
                lines.Add("Stopped");
            }

            return lines;
        }
    }
}
