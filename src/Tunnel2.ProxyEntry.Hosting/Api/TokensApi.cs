using System.Collections.Immutable;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Api.Documents;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Sharing;
using Tunnel2.ProxyEntry.Tokens;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Api;

/// <summary>
/// Makes, lists and revokes the tokens that the server keeps. A token is shown once, in the answer that makes it. Thread-safe.
/// </summary>
internal sealed class TokensApi(
    IssuedTokens tokens,
    TokenUses uses,
    AgentRegistry agents,
    ISessionDirectory directory,
    Configuration.ProxyEntrySettings settings,
    ApiAudit audit,
    TimeProvider time)
{
    /// <summary>The tokens.</summary>
    public ValueTask<ApiAnswer> ListAsync(ApiCall call)
    {
        var sessions = directory.Snapshot()
            .Where(static session => session.Grant?.TokenName is not null)
            .CountBy(static session => session.Grant!.TokenName!, StringComparer.Ordinal)
            .ToDictionary(StringComparer.Ordinal);
        return ValueTask.FromResult(ApiAnswer.Of(new TokenList
        {
            Tokens =
            [
                .. tokens.All.OrderBy(static token => token.Name, StringComparer.Ordinal)
                    .Select(token => Describe(token, sessions.GetValueOrDefault(token.Name))),
            ],
        }));
    }

    /// <summary>One token.</summary>
    public ValueTask<ApiAnswer> GetAsync(ApiCall call) => ValueTask.FromResult(
        tokens.All.FirstOrDefault(token => token.Name == call.Name) is { } found
            ? ApiAnswer.Of(Describe(found, directory.Snapshot().Count(session => session.Grant?.TokenName == found.Name)))
            : NoToken);

    /// <summary>Makes a token.</summary>
    public ValueTask<ApiAnswer> CreateAsync(ApiCall call) => CreateAsync(call, call.BodyAs<CreateToken>());

    /// <summary>Revokes a token, and ends its sessions.</summary>
    public async ValueTask<ApiAnswer> RevokeAsync(ApiCall call)
    {
        try
        {
            var (isFound, token, ended) = await tokens.RevokeAsync(call.Name).ConfigureAwait(false);
            if (!isFound)
            {
                return NoToken;
            }

            var text = token is null ? call.Name : TextOf(token);
            audit.Changed(call, "revokes token", FormattableString.Invariant($"{text}; {ended} sessions were ended"));
            return ApiAnswer.Of(new RevokedToken { Name = call.Name, SessionsEnded = ended });
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return NotKept(exception);
        }
        catch (SharedUnavailableException exception)
        {
            return ApiAnswer.NotShared(exception, "tokens");
        }
    }

    private static ApiAnswer NoToken { get; } = ApiAnswer.Problem(
        StatusCodes.Status404NotFound, "no-token", "There is no token of this name among those that the server keeps.");

    private async ValueTask<ApiAnswer> CreateAsync(ApiCall call, CreateToken wanted)
    {
        if (FindMistake(wanted, out var names) is { } mistake)
        {
            return ApiAnswer.Problem(StatusCodes.Status400BadRequest, "token", mistake);
        }

        var secret = TokenHash.CreateToken();
        var token = new StoredToken
        {
            Name = wanted.Name,
            Agent = wanted.Agent ?? wanted.Name,
            Names = names,
            Tier = wanted.Tier,
            Created = time.GetUtcNow(),
            Expires = wanted.Expires?.ToUniversalTime(),
            Hash = TokenHash.FromToken(secret),
        };
        try
        {
            switch (await tokens.AddAsync(token).ConfigureAwait(false))
            {
                case TokenOutcome.NameTaken:
                    return ApiAnswer.Problem(
                        StatusCodes.Status409Conflict, "name-taken", "There is a token of this name; revoke it, or choose another name.");
                case TokenOutcome.TooMany:
                    return ApiAnswer.Problem(
                        StatusCodes.Status409Conflict, "too-many",
                        FormattableString.Invariant($"{TokenStore.MaxTokens} tokens are kept already; revoke one."));
            }
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return NotKept(exception);
        }
        catch (SharedUnavailableException exception)
        {
            return ApiAnswer.NotShared(exception, "tokens");
        }

        audit.Changed(call, "makes token", TextOf(token));
        return ApiAnswer.Of(new NewToken { Token = secret, Info = Describe(token, 0) }, StatusCodes.Status201Created) with
        {
            Field = ("Location", $"{ApiRoutes.Root}/tokens/{token.Name}"),
        };
    }

    private string? FindMistake(CreateToken wanted, out ImmutableArray<NamePattern> names)
    {
        names = [];
        if (!StoredToken.IsName(wanted.Name))
        {
            return FormattableString.Invariant(
                $"'name' is 1 to {StoredToken.MaxNameLength} of a-z, 0-9, '.', '_' and '-', the first a letter or a digit.");
        }

        if (wanted.Agent is { } agent && !StoredToken.IsAgentId(agent))
        {
            return FormattableString.Invariant(
                $"'agent' is 1 to {StoredToken.MaxNameLength} of A-Z, a-z, 0-9, '.', '_' and '-'.");
        }

        if (wanted.Names is not { Count: > 0 and <= StoredToken.MaxNames } texts)
        {
            return FormattableString.Invariant($"'names' has 1 to {StoredToken.MaxNames} names or patterns; [\"*\"] is any.");
        }

        var patterns = ImmutableArray.CreateBuilder<NamePattern>(texts.Count);
        foreach (var text in texts)
        {
            if (!NamePattern.TryParse(text ?? "", out var pattern))
            {
                return $"'names' has an element that is not {NamePattern.Form}.";
            }

            if (DomainName.FindOwn(pattern!.ToString(), settings.Domain) is { } mistake)
            {
                return $"'names' has '{pattern}', {mistake}.";
            }

            patterns.Add(pattern);
        }

        names = patterns.MoveToImmutable();
        var table = agents.Current;
        return wanted.Tier is { } tier && !(Configuration.TierEntry.IsName(tier) && table.HasTier(tier))
                ? $"'tier' is one of {string.Join(", ", table.TierNames)}."
            : wanted.Expires is { } expires && expires <= time.GetUtcNow() ? "'expires' has passed."
            : null;
    }

    private static ApiAnswer NotKept(Exception exception) => ApiAnswer.Problem(
        StatusCodes.Status503ServiceUnavailable,
        "state-folder",
        $"Nothing has changed: the state folder cannot be written (Tunnel2:StateFolder). {exception.Message}");

    /// <summary>For the audit.</summary>
    private static string TextOf(StoredToken token) =>
        $"{token.Name} of agent {token.Agent} for {string.Join(", ", token.Names.Select(static name => name.ToString()))}"
        + (token.Tier is { } tier ? $", tier {tier}" : "")
        + (token.Expires is { } end ? FormattableString.Invariant($", until {end.UtcDateTime:yyyy-MM-dd HH:mm:ss}Z") : "");

    private TokenInfo Describe(StoredToken token, int sessions) => new()
    {
        Name = token.Name,
        Agent = token.Agent,
        Names = [.. token.Names.Select(static name => name.ToString())],
        Tier = token.Tier,
        Created = token.Created,
        Expires = token.Expires,
        Expired = token.IsExpired(time.GetUtcNow()),
        LastUsed = uses.Find(token.Name),
        Sessions = sessions,
    };
}
